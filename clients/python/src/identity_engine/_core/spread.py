"""Spreads calls over several connection pools.

httpx's pool compares every pair of its connections at each acquire and release. In a pool of 100
connections, this takes longer than the calls; in a pool of ten, a hundredth of that time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from identity_engine._core.process import Lock

C = TypeVar("C")

CALLS_OF_A_POOL = 10
"""Number of concurrent calls in each pool before another pool is created."""


class Spread(Generic[C]):
    """Pools, created on demand. Thread-safe."""

    def __init__(self, make: Callable[[], C], pools_max: int) -> None:
        self._make = make
        self._pools_max = pools_max
        self._lock = Lock()
        self._busy: list[int] = [0]
        self.pools: list[C] = [make()]

    def take(self) -> tuple[int, C]:
        """Begins a call in the pool with the fewest calls. Returns the pool's number and the pool.

        The caller ends the call with ``give_back``.
        """
        with self._lock:
            number = min(range(len(self._busy)), key=self._busy.__getitem__)
            if self._busy[number] >= CALLS_OF_A_POOL and len(self.pools) < self._pools_max:
                self.pools.append(self._make())
                self._busy.append(0)
                number = len(self.pools) - 1
            self._busy[number] += 1
            return number, self.pools[number]

    def give_back(self, number: int) -> None:
        """Ends a call in the pool with this number."""
        with self._lock:
            self._busy[number] -= 1
