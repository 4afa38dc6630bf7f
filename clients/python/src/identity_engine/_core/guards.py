"""Guards of one handle, and which contract is the newest."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, replace
from typing import Protocol

from identity_engine._core.process import Lock
from identity_engine.models import Contract


@dataclass(frozen=True, slots=True)
class Seen:
    """A contract, and what is known of how new it is. Times are seconds of the monotonic clock."""

    contract: Contract
    began_s: float
    """When the request that brought it began; for an event, when that was read."""
    arrived_s: float
    """When it was read."""
    cycle: int | None
    """The cycle that it followed; None: not known."""
    is_bound: bool = False
    """Whether it may have followed a later cycle too."""
    is_event: bool = False
    """Whether it came unasked: what a stream brings may have waited in the connection."""


def newest(held: Seen | None, new: Seen) -> Seen:
    """The one to hold.

    An answer whose request began after the held one had arrived is newer with any cycle: the
    instance was reset meanwhile. Of two that overlap the later cycle is newer, whichever came
    first; where that is not known, or both are of one, the later request is.
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
    """What takes contracts as they come."""

    def _take(self, seen: Seen) -> None:
        """Takes a contract, if it is newer."""

    def _begin_again(self, began_s: float) -> None:
        """The instance was reset: cycles begin again, and earlier requests may be from before."""


class Guards:
    """The guards that a handle updates; one that nothing else holds is forgotten."""

    def __init__(self) -> None:
        self._guards: weakref.WeakSet[HoldsContract] = weakref.WeakSet()
        self._lock = Lock()

    def add(self, guard: HoldsContract) -> None:
        """Keeps a guard up to date from now on."""
        with self._lock:
            self._guards.add(guard)

    def update(self, seen: Seen) -> None:
        """Gives all guards a contract."""
        for guard in self._all():
            guard._take(seen)

    def begin_again(self, began_s: float = -math.inf) -> None:
        """All guards hear that the instance was reset, by a request that began then."""
        for guard in self._all():
            guard._begin_again(began_s)

    def _all(self) -> list[HoldsContract]:
        if not self._guards:
            return []
        with self._lock:
            return list(self._guards)
