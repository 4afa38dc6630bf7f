"""Waiting and sending on a thread; ``async_io`` has the same functions for event loops."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent import futures
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Generic, TypeVar

import httpx
from httpx_sse import EventSource, ServerSentEvent

from identity_engine._core.process import Lock, Place, inherited, process
from identity_engine._core.sync_deadline import bound_by_deadline, deadline
from identity_engine.errors import DeadlineError

T = TypeVar("T")
A = TypeVar("A")

sleep = time.sleep
Slots = threading.Semaphore
Mutex = threading.Lock
Event = threading.Event

_lock = Lock()
_place = Place()


def present_place() -> Place:
    """Returns the place of the running process."""
    global _place
    place = _place
    if place.process == process():
        return place
    with _lock:
        if _place.process != process():
            inherited.append(_place)
            _place = Place()
        return _place


def take_slot(slots: Slots, seconds: float) -> None:
    """Takes a slot. Raises httpx's ``PoolTimeout`` if no slot is free within ``seconds``."""
    if not slots.acquire(timeout=seconds):
        raise httpx.PoolTimeout("too many concurrent calls")


@contextmanager
def limit_s(seconds: float) -> Iterator[None]:
    """Ends network waits in the block with an httpx timeout after ``seconds``."""
    token = deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        deadline.reset(token)


def new_http(limits: httpx.Limits, verify: ssl.SSLContext) -> httpx.Client:
    """Creates an httpx client with its own connections. ``limit_s`` bounds the sum of its waits."""
    return bound_by_deadline(httpx.Client(limits=limits, verify=verify))


def bounded(http: httpx.Client) -> httpx.Client:
    """Changes the caller's client so that ``limit_s`` bounds the sum of its waits."""
    return bound_by_deadline(http)


def blocks_of(response: httpx.Response) -> Generator[ServerSentEvent, None, None]:
    """Yields the blocks of an event stream. Raises ``SSEError`` for an answer of another type."""
    yield from EventSource(response).iter_sse()


def within(seconds: float, function: Callable[[A], T], argument: A) -> T:
    """Returns the result of the caller's function. Raises ``DeadlineError`` after ``seconds``.

    The function runs in a thread, which ends with the function or the process.
    """
    result: futures.Future[T] = futures.Future()
    context = copy_context()

    def run() -> None:
        _settle(result, lambda: context.run(function, argument))

    threading.Thread(target=run, name="identity-engine", daemon=True).start()
    if not futures.wait([result], seconds).done:
        raise DeadlineError(f"the function took longer than {seconds:g} s")
    return result.result()


def wait_at_most(seconds: float, call: Callable[[], None]) -> None:
    """Waits for a call, which continues in its thread if it takes longer than ``seconds``."""
    with suppress(DeadlineError):
        within(seconds, lambda _: call(), None)


class Once(Generic[T]):
    """Runs a call at most once, in the thread of the first caller, and gives its result to all
    callers.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._started = threading.Lock()
        self._result: futures.Future[T] = futures.Future()

    def result(self) -> T:
        """Returns the result, or raises the error. The first caller starts the call."""
        if self._started.acquire(blocking=False):
            _settle(self._result, self._call)
        return self._result.result()


def _settle(result: futures.Future[T], call: Callable[[], T]) -> None:
    """Stores the result or the error of a call."""
    try:
        result.set_result(call())
    except BaseException as error:
        result.set_exception(error)
