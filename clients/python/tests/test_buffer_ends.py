"""Closing a buffer while calls wait, and the order of waiting calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from both_clients import Kind, client_of, raised
from identity_engine import (
    AsyncIdentityEngine,
    AsyncObservationBuffer,
    BufferClosedError,
    IdentityEngine,
    ObservationBuffer,
)
from test_buffer import OBSERVATION, ONE, OTHER, buffer_of, processed
from wire_server import Reply, Request, data, refusal, script, serving

SOON_S = 5.0
"""Maximum time for a woken thread to end, in seconds."""


@contextmanager
def silent_sync_buffer(**options: Any) -> Iterator[ObservationBuffer]:
    """Yields a buffer whose service never answers."""
    with serving(script("silence")) as server:
        with client_of("sync", server.base_url) as client:
            with buffer_of(client, **options) as buffer:
                yield buffer


@contextmanager
def calling(call: Any) -> Iterator[list[Exception]]:
    """Runs a call on another thread. Yields the exceptions of the call.

    The call must wait when the block begins, and end soon after the block.
    """
    errors: list[Exception] = []
    thread = threading.Thread(target=lambda: errors.append(raised(call)), daemon=True)
    thread.start()
    time.sleep(0.2)
    assert thread.is_alive(), "the call did not wait"
    yield errors
    thread.join(SOON_S)
    assert not thread.is_alive(), "the call has not ended"


def test_waiting_add_raises_when_the_buffer_closes() -> None:
    with silent_sync_buffer(pending_max=1, delay_max_s=0) as buffer:
        buffer.add(ONE, OBSERVATION)
        with calling(lambda: buffer.add(ONE, OBSERVATION)) as errors:
            closed = buffer.close(timeout_s=0.1)
        assert [type(each) for each in errors] == [BufferClosedError]
        assert sum(len(each.observations) for each in closed.unacknowledged) == 1


def test_waiting_flush_raises_when_close_returns_the_observations() -> None:
    with silent_sync_buffer() as buffer:
        buffer.add(ONE, OBSERVATION)
        with calling(buffer.flush) as errors:
            buffer.close(timeout_s=0.1)
        assert [type(each) for each in errors] == [BufferClosedError]


def test_calls_made_during_close_end() -> None:
    """A thread adds observations until ``add`` raises, while ``close`` runs."""
    for _ in range(20):
        with serving(processed) as server, client_of("sync", server.base_url) as client:
            with buffer_of(client, delay_max_s=0) as buffer:
                went = 0

                def add(buffer: Any = buffer) -> None:
                    while True:
                        buffer.add(ONE, OBSERVATION)

                thread = threading.Thread(target=lambda: raised(add), daemon=True)
                thread.start()
                time.sleep(0.005)
                went = buffer.close(timeout_s=5).acknowledged
                thread.join(SOON_S)
                assert not thread.is_alive()
                assert went >= 0


def test_call_made_while_the_loop_stops_ends() -> None:
    with serving(processed) as server, client_of("sync", server.base_url) as client:
        for _ in range(10):
            buffer = ObservationBuffer(client)
            buffer._thread.run(buffer._thread.core.close(1))
            # All requests made while the loop is busy run in one turn of the loop.
            busy = threading.Event()
            buffer._thread._loop.call_soon_threadsafe(busy.wait)
            call = threading.Thread(
                target=raised, args=[lambda it=buffer: it.restore([])], daemon=True
            )
            call.start()
            time.sleep(0.05)
            end = threading.Thread(target=buffer._thread.end, daemon=True)
            end.start()
            time.sleep(0.05)
            busy.set()
            end.join(SOON_S)
            call.join(SOON_S)
            assert not call.is_alive()


class Interrupted(BaseException):
    """Replaces KeyboardInterrupt, which would end the test run."""


def test_close_returns_the_same_result_after_an_interruption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import concurrent.futures

    with silent_sync_buffer() as buffer:
        buffer.add(ONE, OBSERVATION)
        real = concurrent.futures.Future.result

        def result(self: Any, timeout: float | None = None) -> Any:
            real(self, timeout)
            raise Interrupted

        with monkeypatch.context() as patched:
            patched.setattr(concurrent.futures.Future, "result", result)
            with pytest.raises(Interrupted):
                buffer.close(timeout_s=0.2)
        closed = buffer.close(timeout_s=0.2)
        assert sum(len(each.observations) for each in closed.unacknowledged) == 1
        assert buffer.close() is closed


def test_close_of_the_async_buffer_returns_its_result_after_a_cancellation() -> None:
    async def main() -> None:
        with serving(script("silence")) as server:
            async with AsyncIdentityEngine(api_key="k", base_url=server.base_url) as client:
                buffer = AsyncObservationBuffer(client)
                await buffer.add(ONE, OBSERVATION)
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(buffer.close(timeout_s=30), 0.2)
                began_s = time.monotonic()
                closed = await buffer.close(timeout_s=0.1)
                assert time.monotonic() - began_s < SOON_S
                assert sum(len(each.observations) for each in closed.unacknowledged) == 1
                assert await buffer.close() is closed

    asyncio.run(main())


def test_add_in_a_hook_of_the_sync_buffer_raises(caplog: pytest.LogCaptureFixture) -> None:
    found: list[Exception] = []
    with serving(processed) as server, client_of("sync", server.base_url) as client:
        with buffer_of(
            client,
            on_acknowledged=lambda _: found.append(raised(lambda: buffer.add(OTHER, OBSERVATION))),
        ) as buffer:
            buffer.add(ONE, OBSERVATION)
            assert buffer.close(timeout_s=5).acknowledged == 1
    assert isinstance(found[0], RuntimeError)


def test_hook_runs_after_the_counts_are_updated(kind: Kind) -> None:
    pending: list[int] = []
    buffer: Any
    answers = script(refusal(422, "invalid_request", reason="too_deep"), data({}))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, on_rejected=lambda _: pending.append(buffer.pending)) as buffer:
            buffer.add(ONE, OBSERVATION)
            buffer.close()
    assert pending == [0]


def test_waiting_adds_continue_in_order() -> None:
    """An ``add`` that arrives while another ``add`` is woken must not overtake that ``add``."""
    seen: list[int] = []

    async def main() -> None:
        def answer(request: Request) -> Reply:
            seen.extend(each["context"]["n"] for each in request.json["observations"])
            return processed(request)

        with serving(answer) as server:
            async with AsyncIdentityEngine(api_key="k", base_url=server.base_url) as client:
                late: list[asyncio.Task[None]] = []
                count = 30

                def more(_: object) -> None:
                    nonlocal count
                    if count < 60:
                        late.append(asyncio.create_task(add(count)))
                        count += 1

                buffer = AsyncObservationBuffer(
                    client, pending_max=2, delay_max_s=0, on_acknowledged=more
                )

                async def add(number: int) -> None:
                    await buffer.add(ONE, {**OBSERVATION, "context": {"n": number}})

                await asyncio.gather(*(add(number) for number in range(30)))
                while len(late) < 30 or not all(task.done() for task in late):
                    await asyncio.sleep(0.01)
                await buffer.flush()
                await buffer.close()

    asyncio.run(main())
    assert seen == [*range(60)]


def test_closed_buffer_ends_its_threads() -> None:
    with IdentityEngine(api_key="k", base_url="http://127.0.0.1:9/v1") as client:
        before = threading.active_count()
        for _ in range(3):
            ObservationBuffer(client).close()
        assert threading.active_count() <= before
