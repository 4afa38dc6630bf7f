"""Runs the same test with both clients. Asynchronous calls run on their own event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import httpx

from identity_engine import AsyncIdentityEngine, IdentityEngine

Kind = Literal["sync", "async"]

KEY = "svc_sk_" + "0" * 50
"""A well-formed API key, which test servers ignore."""


class Driven:
    """Wraps a client or a part of a client, and awaits asynchronous calls."""

    def __init__(self, target: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        self._target = target
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if inspect.ismethod(value):
            return lambda *args, **kwargs: self._driven(value(*args, **kwargs))
        is_ours = type(value).__module__.startswith(
            ("identity_engine._sync", "identity_engine._async")
        )
        return Driven(value, self._loop) if is_ours else value

    def __enter__(self) -> Any:
        enter = self._target.__enter__ if self._loop is None else self._target.__aenter__
        return self._driven(enter())

    def __exit__(self, *raised: Any) -> Any:
        leave = self._target.__exit__ if self._loop is None else self._target.__aexit__
        return self._driven(leave(*raised))

    def __iter__(self) -> Iterator[Any]:
        if self._loop is None:
            yield from self._target
            return
        iterator = self._target.__aiter__()
        while True:
            try:
                yield self._loop.run_until_complete(iterator.__anext__())
            except StopAsyncIteration:
                return

    def _driven(self, value: Any) -> Any:
        if self._loop is not None and inspect.isawaitable(value):
            value = self._loop.run_until_complete(value)
        is_ours = type(value).__module__.startswith(
            ("identity_engine._sync", "identity_engine._async")
        )
        if is_ours or isinstance(value, AsyncIterator):
            return Driven(value, self._loop)
        return value


@contextmanager
def client_of(kind: Kind, base_url: str, **options: Any) -> Iterator[Any]:
    """Yields a client of this kind, and closes it at the end."""
    given = {"api_key": KEY, "base_url": base_url, **options}
    if kind == "sync":
        with IdentityEngine(**given) as client:
            yield Driven(client, None)
        return
    with asyncio.Runner() if hasattr(asyncio, "Runner") else _Runner() as runner:
        loop = runner.get_loop()
        other = AsyncIdentityEngine(**given)
        try:
            yield Driven(other, loop)
        finally:
            loop.run_until_complete(other.aclose())


@contextmanager
def client_with(kind: Kind, base_url: str, **httpx_options: Any) -> Iterator[Any]:
    """Yields a client with an own httpx client with these options, and closes both at the end."""
    if kind == "sync":
        with httpx.Client(**httpx_options) as http:
            with client_of(kind, base_url, http_client=http) as client:
                yield client
        return
    other = httpx.AsyncClient(**httpx_options)
    with client_of(kind, base_url, http_client=other) as client:
        yield client
        client._driven(other.aclose())


class _Runner:
    """``asyncio.Runner`` for Python 3.10."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop


def raised(call: Callable[[], object]) -> Exception:
    """Returns the exception that a call raises."""
    try:
        result = call()
    except Exception as error:
        return error
    raise AssertionError(f"the call raised nothing and returned {result}")
