"""Waiting and sending on an event loop; ``sync_io`` has the same functions for threads."""

from __future__ import annotations

import asyncio
import inspect
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar, cast

import anyio
import httpx
from anyio.lowlevel import RunVar
from httpx_sse import EventSource, ServerSentEvent

from identity_engine._core.process import Place, inherited, process
from identity_engine.errors import DeadlineError

T = TypeVar("T")
A = TypeVar("A")

sleep = anyio.sleep
Slots = anyio.Semaphore
Mutex = anyio.Lock
Event = anyio.Event

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


async def within(seconds: float, function: Callable[[A], T | Awaitable[T]], argument: A) -> T:
    """Returns the result of the caller's function. Raises ``DeadlineError`` after ``seconds``.

    The function may be a coroutine function. Other functions cannot be interrupted.
    """
    with anyio.move_on_after(seconds):
        result = function(argument)
        return cast(T, await result if inspect.isawaitable(result) else result)
    raise DeadlineError(f"the function took longer than {seconds:g} s")


async def wait_at_most(seconds: float, call: Callable[[], Awaitable[None]]) -> None:
    """Waits for a call, and gives up after ``seconds``."""
    with anyio.move_on_after(seconds):
        await call()


_running: set[asyncio.Task[Any]] = set()
"""Tasks of ``Once``, referenced because an event loop holds only weak references."""


class Once(Generic[T]):
    """Runs a call at most once, and gives its result to all callers.

    The call runs in its own task, which continues if a caller is cancelled.
    """

    def __init__(self, call: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._call = call
        self._task: asyncio.Task[T] | None = None

    async def result(self) -> T:
        """Returns the result, or raises the error. The first caller starts the call."""
        if self._task is None:
            self._task = asyncio.create_task(self._call())
            _running.add(self._task)
            self._task.add_done_callback(_running.discard)
        return await asyncio.shield(self._task)
