"""What the asynchronous client needs of its event loop; ``sync_io`` has the same for threads."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager

import anyio
import httpx
from httpx_sse import EventSource, ServerSentEvent

sleep = anyio.sleep


def limit_s(seconds: float) -> AbstractContextManager[object]:
    """Ends what is inside with ``TimeoutError`` after so long."""
    return anyio.fail_after(seconds)


def new_http(limits: httpx.Limits) -> httpx.AsyncClient:
    """A client with its own connections."""
    return httpx.AsyncClient(limits=limits)


def blocks_of(response: httpx.Response) -> AsyncGenerator[ServerSentEvent, None]:
    """The blocks of an event stream. Raises ``SSEError`` for an answer that is none."""
    return EventSource(response).aiter_sse()
