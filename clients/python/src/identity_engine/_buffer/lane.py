"""Queue of one instance: order, due times and spacing of observations.

Pure functions of time. Times are Unix milliseconds of the wall clock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from identity_engine._buffer.batch import Batch, batch_of
from identity_engine._buffer.item import Item

INTERVAL_MS = 1_000
"""Minimum time between two observations of an instance (interface 8.3)."""

AHEAD_MS_MAX = 240_000
"""Maximum lead of a sent timestamp over the clock, in milliseconds: the service accepts 300 s
(interface 2.7), and its clock may be a minute behind.
"""

BODY_BYTES_MAX = 256 * 1_024 - 256
"""Maximum size of the observations in a batch, in bytes.

The maximum size of a request body (interface 8.4), less the JSON around the observations.
"""


@dataclass(slots=True)
class Lane:
    """One instance's pending observations."""

    instance_id: str
    batch_max: int
    newest_ms: int | None = None
    """Newest timestamp; new timestamps are at least 1.000 s later. None if unknown."""
    items: deque[Item] = field(default_factory=deque)
    ready: deque[Batch] = field(default_factory=deque)
    """Batches to send before the items; the first batch may be in flight."""
    added: int = 0
    settled: int = 0
    writing: int = 0
    """Number of observations being written to the spool."""
    is_blocked: bool = False
    """Whether the first batch is too old to be sent again."""

    @property
    def has_work(self) -> bool:
        """Whether the lane has anything to send."""
        return not self.is_blocked and (len(self.ready) > 0 or len(self.items) > 0)

    @property
    def is_full(self) -> bool:
        """Whether the next batch is full."""
        return len(self.ready) > 0 or len(self.items) >= self.batch_max

    def wait_ms(self, now_ms: int) -> int:
        """Time until the first observation may be sent, in milliseconds."""
        first = self.ready[0].first_ms if self.ready else self.items[0].at_ms
        return max(0, first - AHEAD_MS_MAX - now_ms)

    def next_batch(self, now_ms: int) -> Batch:
        """Returns the batch to send: the same until its outcome is known. ``wait_ms`` must be 0."""
        if not self.ready:
            self.ready.append(self._take(now_ms))
        return self.ready[0]

    def place(self, item: Item) -> None:
        """Sets the timestamp of an added item, unless the caller set it."""
        if not item.is_own_time and self.newest_ms is not None:
            at_ms = max(item.at_ms, self.newest_ms + INTERVAL_MS)
            if at_ms != item.at_ms:
                item.move(at_ms)
        self.newest_ms = max(item.at_ms, self.newest_ms or item.at_ms)

    def acknowledge(self, batch: Batch) -> None:
        """Removes the applied batch."""
        assert self.ready[0] is batch, "the batch in flight must be the first"
        self.ready.popleft()
        self.settled += len(batch.items)

    def put_back(self, batch: Batch) -> None:
        """Puts the items of a batch that had no effect back into the lane, for new batches."""
        self._put_back(batch, batch.items)

    def throttled(
        self, batch: Batch, fresh: list[Item], wait_ms: int
    ) -> tuple[list[Item], list[Item]]:
        """Handles a throttled batch: its ``fresh`` items had no effect, the others were applied.

        The first fresh item needs a timestamp at least ``wait_ms`` later. Returns the lost items,
        which have a timestamp of the caller that is too early, and the moved items, which got a new
        timestamp. All fresh items except the lost items are sent again, in the same order.
        """
        at_least_ms = fresh[0].at_ms + wait_ms
        lost = [
            item
            for item in fresh
            if item.is_own_time and (item is fresh[0] or item.at_ms <= at_least_ms - INTERVAL_MS)
        ]
        left = [item for item in fresh if item not in lost]
        # Later batches keep their timestamps, because earlier attempts may have sent them.
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
        """Removes a rejected item; the other items had no effect and are sent again."""
        self._put_back(batch, [item for n, item in enumerate(batch.items) if n != index])
        self.settled += 1

    def reject_batch(self, batch: Batch) -> None:
        """Removes a batch whose items are all rejected."""
        self._put_back(batch, [])
        self.settled += len(batch.items)

    def halve(self, batch: Batch) -> None:
        """Splits a batch that had no effect into two batches."""
        self.ready.popleft()
        middle = len(batch.items) // 2
        for items in (batch.items[middle:], batch.items[:middle]):
            self.ready.appendleft(batch_of(items))

    def all_that_waits(self) -> list[Batch]:
        """Removes and returns everything pending, as batches in order."""
        batches = list(self.ready)
        self.ready.clear()
        while self.items:
            batches.append(self._take(None))
        return batches

    def _put_back(self, batch: Batch, items: list[Item]) -> None:
        assert self.ready[0] is batch, "the batch in flight must be the first"
        self.ready.popleft()
        if items and self.ready:
            # The following batches were restored and keep their keys. To keep the order, these
            # items must become batches too.
            for group in reversed(_groups(items)):
                self.ready.appendleft(batch_of(group))
        else:
            self.items.extendleft(reversed(items))

    def _take(self, now_ms: int | None) -> Batch:
        """Removes and returns the next batch; with ``now_ms``, only items that may be sent now."""
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
    """Splits items into groups that each fit into a batch."""
    groups: list[list[Item]] = []
    for item in items:
        if groups and item.at_ms >= groups[-1][-1].at_ms + INTERVAL_MS:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups
