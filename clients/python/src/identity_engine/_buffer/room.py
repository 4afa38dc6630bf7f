"""The bound of what waits in a buffer, and who waits for it."""

from __future__ import annotations

import asyncio
from collections import deque


class Room:
    """Places for observations, given in the order in which they were asked for.

    The semaphores of asyncio let a new taker overtake one that was just woken, in some of the
    versions of Python that this package supports.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_ended = False

    async def take(self) -> None:
        """Takes a place once there is one, or comes back without one after ``end``."""
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
        """Gives places back."""
        self._free += places
        self._wake()

    def end(self) -> None:
        """All who wait go on, now and later: nothing is taken any more."""
        self._is_ended = True
        for each in self._waiting:
            if not each.done():
                each.set_result(None)

    def _wake(self) -> None:
        # One that was woken stays in the row until it runs, so that no later one passes it.
        for each in self._waiting:
            if self._free == 0:
                return
            if not each.done():
                self._free -= 1
                each.set_result(None)
