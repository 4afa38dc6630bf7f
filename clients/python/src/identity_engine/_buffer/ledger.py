"""What is pending in a buffer, and what became of the rest."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from identity_engine._buffer.options import (
    Acknowledged,
    BufferOptions,
    Rejected,
    ThrottledObservation,
)
from identity_engine._buffer.room import Room
from identity_engine.errors import IdentityEngineError

REJECTED_KEPT = 10_000
"""Rejected observations that are kept for the one who closes the buffer."""


class Ledger:
    """Counts observations and reports what became of them. ``room`` bounds those that are
    pending.
    """

    def __init__(self, options: BufferOptions) -> None:
        self._options = options
        self._without_room = 0
        self.room = Room(options.pending_max)
        self.rejected: deque[Rejected] = deque(maxlen=REJECTED_KEPT)
        self.throttled: deque[ThrottledObservation] = deque(maxlen=REJECTED_KEPT)
        self.acknowledged = 0
        self.pending = 0
        self.settled = asyncio.Condition()
        """Notified whenever something is settled, or never will be."""

    def took(self, count: int, *, has_room: bool) -> None:
        """Observations are pending from now on. Restored ones have taken no room."""
        self.pending += count
        if not has_room:
            self._without_room += count

    async def acknowledge(self, news: Acknowledged) -> None:
        """A batch counts."""
        self.acknowledged += len(news.observations)
        await self._release(len(news.observations))
        # A hook finds everything settled that it hears of.
        self._options.report(news)

    async def reject(
        self, instance_id: str, observations: Sequence[dict[str, Any]], error: IdentityEngineError
    ) -> None:
        """Observations are refused."""
        # The frames of a traceback hold the body of a whole batch.
        error.__cause__ = error.__context__ = None
        plain = error.with_traceback(None)
        news = [Rejected(instance_id, each, plain) for each in observations]
        self.rejected.extend(news)
        await self._release(len(news))
        for each in news:
            self._options.report(each)

    async def throttle(self, instance_id: str, observations: Sequence[dict[str, Any]]) -> None:
        """Observations are throttled for good."""
        news = [ThrottledObservation(instance_id, each) for each in observations]
        self.throttled.extend(news)
        await self._release(len(news))
        for each in news:
            self._options.report(each)

    async def notify(self) -> None:
        """All who wait look again."""
        async with self.settled:
            self.settled.notify_all()

    async def _release(self, count: int) -> None:
        self.pending -= count
        # What took no room gives none back: as many others give theirs back later.
        kept = min(self._without_room, count)
        self._without_room -= kept
        self.room.give_back(count - kept)
        await self.notify()
