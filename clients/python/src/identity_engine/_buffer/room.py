"""Bound on pending observations, with a fair queue for waiting ``add`` calls."""

from __future__ import annotations

import asyncio
from collections import deque


class Room:
    """Places for observations, assigned in order of request.

    Not an asyncio semaphore: in some supported Python versions, a new task can overtake a task that
    was just woken.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_ended = False

    async def take(self) -> None:
        """Waits for a place and takes it. After ``end``, returns without a place."""
        if self._is_ended:
            return
        if self._free > 0 and not self._waiting:
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._free += 1
            raise
        finally:
            self._waiting.remove(mine)
            self._wake()

    def give_back(self, places: int) -> None:
        """Releases places."""
        self._free += places
        self._wake()

    def end(self) -> None:
        """Ends all present and future waits."""
        self._is_ended = True
        for each in self._waiting:
            if not each.done():
                each.set_result(None)

    def _wake(self) -> None:
        # A woken task stays in the queue until it runs, so that no later task overtakes it.
        for each in self._waiting:
            if self._free == 0:
                return
            if not each.done():
                self._free -= 1
                each.set_result(None)
