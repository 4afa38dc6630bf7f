"""Guards of one handle, and which contract is the newest."""

from __future__ import annotations

import threading
import weakref
from typing import Protocol

from identity_engine.models import Contract


class HoldsContract(Protocol):
    """What takes contracts as they come."""

    def update(self, contract: Contract, *, began_s: float | None = None) -> None:
        """Takes a contract of a request that began then."""


class Guards:
    """The guards that a handle updates; one that nothing else holds is forgotten."""

    def __init__(self) -> None:
        self._guards: weakref.WeakSet[HoldsContract] = weakref.WeakSet()
        self._lock = threading.Lock()

    def add(self, guard: HoldsContract) -> None:
        """Keeps a guard up to date from now on."""
        with self._lock:
            self._guards.add(guard)

    def update(self, contract: Contract, began_s: float) -> None:
        """Gives all guards a contract of a request that began then, by the monotonic clock."""
        if not self._guards:
            return
        with self._lock:
            guards = list(self._guards)
        for guard in guards:
            guard.update(contract, began_s=began_s)
