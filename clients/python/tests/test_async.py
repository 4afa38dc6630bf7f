"""Cancellation and concurrent calls on an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
import pytest

from both_clients import KEY
from identity_engine import AsyncIdentityEngine
from wire_server import Fault, Reply, Request, data, script, serving

ACCOUNT = data(
    {
        "plan": {
            "name": "pro",
            "requests_per_minute": 1,
            "cycles_per_month": 1,
            "instances_max": 1,
        },
        "usage": {
            "minute": {"limit": 1, "remaining": 1, "reset": 1},
            "month": {"limit": 1, "remaining": 1, "reset": 1},
        },
        "key": {"id": "key_0123456789abcdef", "scope": "full", "expires_at": None},
    }
)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())


@pytest.mark.parametrize("fault", ["silence", "dribble"])
def test_cancelling_ends_a_call_immediately_without_a_retry(fault: Fault) -> None:
    async def main() -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=server.base_url) as client:
            task = asyncio.create_task(client.account.get())
            while not server.requests:
                await asyncio.sleep(0.01)
            began_s = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.monotonic() - began_s < 1

    with serving(script(fault)) as server:
        run(main)
        assert len(server.requests) == 1


def test_cancelling_ends_the_wait_between_attempts() -> None:
    async def main() -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=server.base_url) as client:
            began_s = time.monotonic()
            with anyio.move_on_after(0.3):
                await client.account.get(timeout_s=100)
            assert time.monotonic() - began_s < 2

    answer = Reply(503, {"Retry-After": "50"}, b"")
    with serving(script(answer)) as server:
        run(main)
        assert len(server.requests) == 1


def test_client_works_after_cancelled_calls() -> None:
    is_silent = True

    def answer(request: Request) -> Reply | Fault:
        return "silence" if is_silent else ACCOUNT

    async def main() -> None:
        nonlocal is_silent
        async with AsyncIdentityEngine(api_key=KEY, base_url=server.base_url) as client:
            calls = [asyncio.create_task(client.account.get()) for _ in range(150)]
            while len(server.requests) < 100:
                await asyncio.sleep(0.01)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            is_silent = False
            answered = await asyncio.gather(*(client.account.get() for _ in range(150)))
            assert len(answered) == 150

    with serving(answer) as server:
        run(main)


def test_calls_beyond_the_number_of_connections_wait() -> None:
    async def main() -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=server.base_url) as client:
            calls: list[Awaitable[Any]] = [client.account.get() for _ in range(300)]
            answered = await asyncio.gather(*calls)
        assert all(result.attempts == 1 for result in answered)

    with serving(script(ACCOUNT)) as server:
        run(main)
        assert server.connections <= 100


def test_client_runs_on_trio() -> None:
    trio = pytest.importorskip("trio")

    async def main() -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=server.base_url) as client:
            assert (await client.account.get()).status == 200

    with serving(script(ACCOUNT)) as server:
        trio.run(main)
