"""Fork safety: how objects notice that they were made in another process, and locks that a child
process finds free.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

_forks = 0
"""Forks between the first process of the program and this one, where Python made them."""

inherited: list[object] = []
"""Connections and streams of the parent process, kept so that nothing closes them. Closing would
end the parent's connection: the socket is the same one.
"""


def process() -> tuple[int, int]:
    """Identity of the present process.

    The process id alone covers servers that fork without Python's fork hooks (uWSGI). The number
    of forks covers a process id that the system has used again.
    """
    return os.getpid(), _forks


class Place:
    """Owner of connections: one process, or one event loop of one process."""

    __slots__ = ("__weakref__", "is_loop_inherited", "process")

    def __init__(self, *, is_loop_inherited: bool = False) -> None:
        self.process = process()
        self.is_loop_inherited = is_loop_inherited
        """Whether the event loop was made before the fork, and still has tasks of the parent."""


class ForkAware:
    """An object that a forked process makes fit for itself."""

    def begin_again(self) -> None:
        """Called in the child, before any other code runs there."""
        raise NotImplementedError


class Lock(ForkAware):
    """A lock that is free in a forked process, whichever thread of the parent held it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        on_fork(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()

    def begin_again(self) -> None:
        """Makes the lock free."""
        self._lock = threading.Lock()


_aware: weakref.WeakSet[ForkAware] = weakref.WeakSet()


def on_fork(item: ForkAware) -> None:
    """Has ``begin_again`` called in every child, for as long as something holds the object."""
    _aware.add(item)


def _begin_in_child() -> None:
    global _forks
    _forks += 1
    for item in list(_aware):
        item.begin_again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
