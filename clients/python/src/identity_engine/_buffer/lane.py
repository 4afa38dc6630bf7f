"""The observations of one instance in their order: when they are due, and how they are spaced.

Functions of times that are given: milliseconds since 1970, of the clock that timestamps are made
of.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from identity_engine._buffer.batch import Batch, batch_of
from identity_engine._buffer.item import Item

INTERVAL_MS = 1_000
"""The least distance of two observations that both count (interface 8.3)."""

AHEAD_MS_MAX = 240_000
"""How far ahead of now a timestamp is sent: the service refuses more than 300 s (interface 2.7),
and its clock may be a minute behind.
"""

BODY_BYTES_MAX = 256 * 1_024 - 256
"""What all observations of a batch may take: the bound of a body without its frame (interface
8.4).
"""


@dataclass(slots=True)
class Lane:
    """What waits of one instance."""

    instance_id: str
    batch_max: int
    newest_ms: int | None = None
    """The latest timestamp so far, behind which the buffer gives new ones; None: not known."""
    items: deque[Item] = field(default_factory=deque)
    ready: deque[Batch] = field(default_factory=deque)
    """Batches that are sent before the items; the first one may be under way."""
    added: int = 0
    settled: int = 0
    writing: int = 0
    """Observations that are being written to the spool."""
    is_blocked: bool = False
    """Whether its first batch is too old to be sent again."""

    @property
    def has_work(self) -> bool:
        """Whether anything waits that can be sent."""
        return not self.is_blocked and (len(self.ready) > 0 or len(self.items) > 0)

    @property
    def is_full(self) -> bool:
        """Whether waiting for more items would bring no larger batch."""
        return len(self.ready) > 0 or len(self.items) >= self.batch_max

    def wait_ms(self, now_ms: int) -> int:
        """How long the next batch must wait because its first timestamp is too far ahead."""
        first = self.ready[0].first_ms if self.ready else self.items[0].at_ms
        return max(0, first - AHEAD_MS_MAX - now_ms)

    def next_batch(self, now_ms: int) -> Batch:
        """The batch to send: the same one until it is settled. ``wait_ms`` must be 0."""
        if not self.ready:
            self.ready.append(self._take(now_ms))
        return self.ready[0]

    def place(self, item: Item) -> None:
        """Gives an item that is added its time, unless that is the caller's own."""
        if not item.is_own_time and self.newest_ms is not None:
            at_ms = max(item.at_ms, self.newest_ms + INTERVAL_MS)
            if at_ms != item.at_ms:
                item.move(at_ms)
        self.newest_ms = max(item.at_ms, self.newest_ms or item.at_ms)

    def acknowledge(self, batch: Batch) -> None:
        """The batch counts."""
        assert self.ready[0] is batch, "the batch under way is the first"
        self.ready.popleft()
        self.settled += len(batch.items)

    def put_back(self, batch: Batch) -> None:
        """The batch surely did not count: its items are sent in new batches."""
        self._put_back(batch, batch.items)

    def throttled(
        self, batch: Batch, fresh: list[Item], wait_ms: int
    ) -> tuple[list[Item], list[Item]]:
        """The service throttled the ``fresh`` items of a batch: the newest observation is up to
        ``wait_ms`` behind the first of them. The other items count.

        Gives the items that can never count with their own timestamps, and those that have new
        times. All but the former are sent again, in the same order.
        """
        at_least_ms = fresh[0].at_ms + wait_ms
        lost = [
            item
            for item in fresh
            if item.is_own_time and (item is fresh[0] or item.at_ms <= at_least_ms - INTERVAL_MS)
        ]
        left = [item for item in fresh if item not in lost]
        # Batches behind it keep their times: attempts of them may be on their way.
        is_last = len(self.ready) == 1
        moved: list[Item] = []
        for item in [*left, *self.items] if is_last else left:
            if not item.is_own_time and item.at_ms < at_least_ms:
                item.move(at_least_ms)
                moved.append(item)
            at_least_ms = max(at_least_ms, item.at_ms + INTERVAL_MS)
        self.newest_ms = max(at_least_ms - INTERVAL_MS, self.newest_ms or 0)
        self._put_back(batch, left)
        self.settled += len(batch.items) - len(left)
        return lost, moved

    def reject(self, batch: Batch, index: int) -> None:
        """One item of a batch is rejected; the others surely did not count, and are sent again."""
        self._put_back(batch, [item for n, item in enumerate(batch.items) if n != index])
        self.settled += 1

    def reject_batch(self, batch: Batch) -> None:
        """No item of the batch counts, and none is sent again."""
        self._put_back(batch, [])
        self.settled += len(batch.items)

    def halve(self, batch: Batch) -> None:
        """The batch surely did not count, and is sent as two."""
        self.ready.popleft()
        middle = len(batch.items) // 2
        for items in (batch.items[middle:], batch.items[:middle]):
            self.ready.appendleft(batch_of(items))

    def all_that_waits(self) -> list[Batch]:
        """Everything that is not settled, as batches in their order; nothing waits afterwards."""
        batches = list(self.ready)
        self.ready.clear()
        while self.items:
            batches.append(self._take(None))
        return batches

    def _put_back(self, batch: Batch, items: list[Item]) -> None:
        assert self.ready[0] is batch, "the batch under way is the first"
        self.ready.popleft()
        if items and self.ready:
            # Restored batches behind it keep their keys: what comes before them is a batch too.
            for group in reversed(_groups(items)):
                self.ready.appendleft(batch_of(group))
        else:
            self.items.extendleft(reversed(items))

    def _take(self, now_ms: int | None) -> Batch:
        """The items that make the next batch, of those that may be sent now if a time is given."""
        taken: list[Item] = []
        size = 0
        while self.items and len(taken) < self.batch_max:
            item = self.items[0]
            is_ahead = now_ms is not None and item.at_ms > now_ms + AHEAD_MS_MAX
            is_early = bool(taken) and item.at_ms < taken[-1].at_ms + INTERVAL_MS
            if taken and (is_ahead or is_early or size + item.size > BODY_BYTES_MAX):
                break
            taken.append(self.items.popleft())
            size += item.size
        return batch_of(taken)


def _groups(items: list[Item]) -> list[list[Item]]:
    """Items in groups that may each be a batch."""
    groups: list[list[Item]] = []
    for item in items:
        if groups and item.at_ms >= groups[-1][-1].at_ms + INTERVAL_MS:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups
