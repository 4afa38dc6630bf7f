"""The observations of one instance in their order: when they are due, and how they are spaced.

Functions of times that are given: milliseconds since 1970, of the clock that timestamps are made
of.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from identity_engine._buffer.batch import Batch
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
    """The timestamp that the next one must be an interval behind; None: not known."""
    items: deque[Item] = field(default_factory=deque)
    ready: deque[Batch] = field(default_factory=deque)
    """Batches that are sent before the items; the first one may be under way."""
    added: int = 0
    settled: int = 0
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
        first = self.ready[0].first_ms if self.ready else self._time_of(self.items[0])
        return max(0, first - AHEAD_MS_MAX - now_ms)

    def next_batch(self, now_ms: int) -> Batch:
        """The batch to send: the same one until it is settled. ``wait_ms`` must be 0."""
        if not self.ready:
            self.ready.append(self._take(now_ms))
        return self.ready[0]

    def acknowledge(self, batch: Batch) -> None:
        """The batch counts."""
        assert self.ready[0] is batch, "the batch under way is the first"
        self.ready.popleft()
        self.newest_ms = max(batch.last_ms, self.newest_ms or batch.last_ms)
        self.settled += len(batch.items)

    def space_again(self, batch: Batch, first_ms: int) -> None:
        """The batch surely did not count: its items are spaced again, none before ``first_ms``."""
        self.newest_ms = first_ms - INTERVAL_MS
        self._put_back(batch, batch.items)

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
            self.ready.appendleft(self._spaced(items, batch.first_ms))
        first, second = self.ready[0], self.ready[1]
        if second.first_ms < first.last_ms + INTERVAL_MS:
            self.ready[1] = self._spaced(second.items, first.last_ms + INTERVAL_MS)

    def all_that_waits(self) -> list[Batch]:
        """Everything that is not settled, as batches in their order; nothing waits afterwards."""
        batches = list(self.ready)
        self.ready.clear()
        if batches:
            self.newest_ms = max(batches[-1].last_ms, self.newest_ms or batches[-1].last_ms)
        while self.items:
            batch = self._take(None)
            self.newest_ms = batch.last_ms
            batches.append(batch)
        return batches

    def _put_back(self, batch: Batch, items: list[Item]) -> None:
        assert self.ready[0] is batch, "the batch under way is the first"
        self.ready.popleft()
        if items and self.ready:
            # Restored batches behind it keep their keys: what comes before them is a batch too.
            self.ready.appendleft(self._spaced(items, self._time_of(items[0])))
        else:
            self.items.extendleft(reversed(items))

    def _time_of(self, item: Item) -> int:
        if self.newest_ms is None:
            return item.wanted_ms
        return max(item.wanted_ms, self.newest_ms + INTERVAL_MS)

    def _take(self, now_ms: int | None) -> Batch:
        """The items that make the next batch, of those that may be sent now if a time is given."""
        taken: list[Item] = []
        size, at_ms = 0, self._time_of(self.items[0])
        while self.items and len(taken) < self.batch_max:
            item = self.items[0]
            at_ms = max(item.wanted_ms, at_ms)
            is_ahead = now_ms is not None and at_ms > now_ms + AHEAD_MS_MAX
            if taken and (is_ahead or size + item.size > BODY_BYTES_MAX):
                break
            taken.append(self.items.popleft())
            size += item.size
            at_ms += INTERVAL_MS
        return self._spaced(taken, self._time_of(taken[0]))

    def _spaced(self, items: list[Item], first_ms: int) -> Batch:
        times: list[int] = []
        at_ms = first_ms
        for item in items:
            at_ms = max(item.wanted_ms, at_ms)
            times.append(at_ms)
            at_ms += INTERVAL_MS
        observations = [item.at(time) for item, time in zip(items, times, strict=True)]
        return Batch(items, observations, times[0], times[-1])
