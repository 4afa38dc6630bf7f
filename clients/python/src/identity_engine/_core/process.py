"""Fork safety: objects that detect a fork, and locks that are free in a child process."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

_forks = 0
"""Number of Python forks between the program's first process and this process."""

inherited: list[object] = []
"""Connections and streams of the parent process, kept referenced so that they are not closed.
Closing the shared socket would end the parent's connection.
"""


def process() -> tuple[int, int]:
    """Identity of the present process.

    The process id covers servers that fork without Python's fork hooks (uWSGI). The number of forks
    covers a reused process id.
    """
    return os.getpid(), _forks


class Place:
    """Owner of connections: a process, or an event loop in a process."""

    __slots__ = ("__weakref__", "is_loop_inherited", "process")

    def __init__(self, *, is_loop_inherited: bool = False) -> None:
        self.process = process()
        self.is_loop_inherited = is_loop_inherited
        """Whether the event loop was created before the fork and has tasks of the parent."""


class ForkAware:
    """An object that a forked child resets."""

    def begin_again(self) -> None:
        """Resets the object. Called in the child before any other code."""
        raise NotImplementedError


class Lock(ForkAware):
    """A lock that is free in a forked process, even if a thread of the parent held it."""

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
        """Replaces the lock by a free lock."""
        self._lock = threading.Lock()


_aware: weakref.WeakSet[ForkAware] = weakref.WeakSet()


def on_fork(item: ForkAware) -> None:
    """Registers an object for ``begin_again`` in every child. Holds only a weak reference."""
    _aware.add(item)


def _begin_in_child() -> None:
    global _forks
    _forks += 1
    for item in list(_aware):
        item.begin_again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
