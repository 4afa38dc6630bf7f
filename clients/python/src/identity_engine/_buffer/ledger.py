"""Counts pending observations, and keeps outcomes."""

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
"""Maximum rejected observations kept for ``close``."""


class Ledger:
    """Counts observations and reports outcomes. ``room`` bounds pending observations."""

    def __init__(self, options: BufferOptions) -> None:
        self._options = options
        self._without_room = 0
        self.room = Room(options.pending_max)
        self.rejected: deque[Rejected] = deque(maxlen=REJECTED_KEPT)
        self.throttled: deque[ThrottledObservation] = deque(maxlen=REJECTED_KEPT)
        self.acknowledged = 0
        self.pending = 0
        self.settled = asyncio.Condition()
        """Notified when an observation is finished, or the buffer stops."""

    def took(self, count: int, *, has_room: bool) -> None:
        """Counts new pending observations. Restored observations take no room."""
        self.pending += count
        if not has_room:
            self._without_room += count

    async def acknowledge(self, news: Acknowledged) -> None:
        """Reports an applied batch."""
        self.acknowledged += len(news.observations)
        await self._release(len(news.observations))
        # Hooks run after the counts are updated.
        self._options.report(news)

    async def reject(
        self, instance_id: str, observations: Sequence[dict[str, Any]], error: IdentityEngineError
    ) -> None:
        """Reports rejected observations."""
        # Drop the traceback, whose frames hold the body of a whole batch.
        error.__cause__ = error.__context__ = None
        plain = error.with_traceback(None)
        news = [Rejected(instance_id, each, plain) for each in observations]
        self.rejected.extend(news)
        await self._release(len(news))
        for each in news:
            self._options.report(each)

    async def throttle(self, instance_id: str, observations: Sequence[dict[str, Any]]) -> None:
        """Reports permanently throttled observations."""
        news = [ThrottledObservation(instance_id, each) for each in observations]
        self.throttled.extend(news)
        await self._release(len(news))
        for each in news:
            self._options.report(each)

    async def notify(self) -> None:
        """Wakes all waiting calls."""
        async with self.settled:
            self.settled.notify_all()

    async def _release(self, count: int) -> None:
        self.pending -= count
        # Restored observations took no room: as many finished observations release no room.
        kept = min(self._without_room, count)
        self._without_room -= kept
        self.room.give_back(count - kept)
        await self.notify()
