"""Waiting and sending on a thread; ``async_io`` has the same functions for event loops."""

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
