"""Spreads calls over several pools of connections.

The pool of httpx looks at every pair of its connections whenever one is taken or given back, so
that a pool of 100 costs more than the calls that it carries. Ten pools of ten cost a hundredth of
that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from identity_engine._core.process import Lock

C = TypeVar("C")

CALLS_OF_A_POOL = 10
"""Calls that go over one pool before another one is made."""


class Spread(Generic[C]):
    """Pools that are made when they are needed. Safe to use from several threads."""

    def __init__(self, make: Callable[[], C], pools_max: int) -> None:
        self._make = make
        self._pools_max = pools_max
        self._lock = Lock()
        self._busy: list[int] = [0]
        self.pools: list[C] = [make()]

    def take(self) -> tuple[int, C]:
        """The pool with the fewest calls, by its number, until it is given back."""
        with self._lock:
            number = min(range(len(self._busy)), key=self._busy.__getitem__)
            if self._busy[number] >= CALLS_OF_A_POOL and len(self.pools) < self._pools_max:
                self.pools.append(self._make())
                self._busy.append(0)
                number = len(self.pools) - 1
            self._busy[number] += 1
            return number, self.pools[number]

    def give_back(self, number: int) -> None:
        """One call over this pool has ended."""
        with self._lock:
            self._busy[number] -= 1
