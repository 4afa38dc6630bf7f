"""What the synchronous client needs of its thread; ``async_io`` has the same for event loops."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import httpx
from httpx_sse import EventSource, ServerSentEvent

from identity_engine._core.process import Lock, Place, inherited, process
from identity_engine._core.sync_deadline import bound_by_deadline, deadline

sleep = time.sleep
Slots = threading.Semaphore
Mutex = threading.Lock

_lock = Lock()
_place = Place()


def present_place() -> Place:
    """The process that runs."""
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
    """Takes one of the slots. Raises ``PoolTimeout`` of httpx when none is free for so long."""
    if not slots.acquire(timeout=seconds):
        raise httpx.PoolTimeout("too many concurrent calls")


@contextmanager
def limit_s(seconds: float) -> Iterator[None]:
    """Ends every wait for the network inside with a time-out of httpx after so long."""
    token = deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        deadline.reset(token)


def new_http(limits: httpx.Limits, verify: ssl.SSLContext) -> httpx.Client:
    """A client with its own connections, whose waits ``limit_s`` bounds together."""
    return bound_by_deadline(httpx.Client(limits=limits, verify=verify))


def bounded(http: httpx.Client) -> httpx.Client:
    """A client of the caller, whose waits ``limit_s`` bounds together from now on."""
    return bound_by_deadline(http)


def blocks_of(response: httpx.Response) -> Generator[ServerSentEvent, None, None]:
    """The blocks of an event stream. Raises ``SSEError`` for an answer that is none."""
    yield from EventSource(response).iter_sse()
