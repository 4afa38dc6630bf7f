"""A handle's guards, and the comparison of contracts by age."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, replace
from typing import Protocol

from identity_engine._core.process import Lock
from identity_engine.models import Contract


@dataclass(frozen=True, slots=True)
class Seen:
    """A contract and facts about its age. Times are monotonic seconds."""

    contract: Contract
    began_s: float
    """Request start; for an event, the time of reading."""
    arrived_s: float
    """Time of reading."""
    cycle: int | None
    """Cycle of the contract; None if unknown."""
    is_bound: bool = False
    """Whether ``cycle`` is only a lower bound."""
    is_event: bool = False
    """Whether the contract came in an event, which may have waited in the connection."""


def newest(held: Seen | None, new: Seen) -> Seen:
    """Returns the newer of two contracts.

    A request that began after the held contract arrived is newer, whatever its cycle: the
    instance may have been reset. Of two overlapping requests, the later cycle is newer. If the
    cycles are equal or unknown, the later request is newer.
    """
    if held is None:
        return new
    is_after = new.began_s >= held.arrived_s and not new.is_event
    if not is_after and not _is_later(new, held):
        return held
    return new if new.cycle is not None else replace(new, cycle=held.cycle, is_bound=True)


def _is_later(new: Seen, held: Seen) -> bool:
    if new.cycle is not None and held.cycle is not None:
        if new.cycle < held.cycle or (held.is_bound and new.cycle == held.cycle):
            return False
        if new.cycle > held.cycle and not held.is_bound:
            return True
    return new.began_s >= held.began_s


class HoldsContract(Protocol):
    """An object that receives contracts."""

    def _take(self, seen: Seen) -> None:
        """Stores a contract if it is newer."""

    def _begin_again(self, began_s: float) -> None:
        """Handles a reset: cycles restart, and answers to earlier requests may be older."""


class Guards:
    """Guards that a handle updates. Holds only weak references."""

    def __init__(self) -> None:
        self._guards: weakref.WeakSet[HoldsContract] = weakref.WeakSet()
        self._lock = Lock()

    def add(self, guard: HoldsContract) -> None:
        """Adds a guard, which then receives all contracts."""
        with self._lock:
            self._guards.add(guard)

    def update(self, seen: Seen) -> None:
        """Passes a contract to all guards."""
        for guard in self._all():
            guard._take(seen)

    def begin_again(self, began_s: float = -math.inf) -> None:
        """Reports a reset to all guards. ``began_s``: start of the reset request."""
        for guard in self._all():
            guard._begin_again(began_s)

    def _all(self) -> list[HoldsContract]:
        if not self._guards:
            return []
        with self._lock:
            return list(self._guards)
