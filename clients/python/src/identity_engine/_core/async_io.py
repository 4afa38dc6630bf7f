"""Waiting and sending on an event loop; ``sync_io`` has the same functions for threads."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager

import anyio
import httpx
from anyio.lowlevel import RunVar
from httpx_sse import EventSource, ServerSentEvent

from identity_engine._core.process import Place, inherited, process

sleep = anyio.sleep
Slots = anyio.Semaphore
Mutex = anyio.Lock

_place: RunVar[Place] = RunVar("identity_engine_place")


def present_place() -> Place:
    """Returns the place of the running event loop in this process."""
    place = _place.get(None)
    if place is None or place.process != process():
        if place is not None:
            inherited.append(place)
        place = Place(is_loop_inherited=place is not None)
        _place.set(place)
    return place


async def take_slot(slots: Slots, seconds: float) -> None:
    """Takes a slot. Raises httpx's ``PoolTimeout`` if no slot is free within ``seconds``."""
    if slots.value > 0:
        slots.acquire_nowait()
        return
    with anyio.move_on_after(seconds):
        await slots.acquire()
        return
    raise httpx.PoolTimeout("too many concurrent calls")


def limit_s(seconds: float) -> AbstractContextManager[object]:
    """Ends the block with ``TimeoutError`` after ``seconds``."""
    return anyio.fail_after(seconds)


def new_http(limits: httpx.Limits, verify: ssl.SSLContext) -> httpx.AsyncClient:
    """Creates an httpx client with its own connections."""
    return httpx.AsyncClient(limits=limits, verify=verify)


def bounded(http: httpx.AsyncClient) -> httpx.AsyncClient:
    """Returns the caller's client unchanged: ``limit_s`` cancels its waits anyway."""
    return http


def blocks_of(response: httpx.Response) -> AsyncGenerator[ServerSentEvent, None]:
    """Yields the blocks of an event stream. Raises ``SSEError`` for an answer of another type."""
    return EventSource(response).aiter_sse()
