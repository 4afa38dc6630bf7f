"""The buffer of both clients, in cases that the property test does not generate."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest

from both_clients import Driven, Kind, client_of, raised
from identity_engine import (
    AsyncObservationBuffer,
    BufferClosedError,
    ConfigurationError,
    ObservationBuffer,
    Rejected,
    UnacknowledgedBatch,
    UnauthorizedError,
)
from test_guard import state
from wire_server import Fault, Reply, Request, data, refusal, script, serving

OBSERVATION = {"mode_target": "ORDER", "signal_strength": 0.5}
ONE = "inst_0123456789abcdef"
OTHER = "inst_fedcba9876543210"


@contextmanager
def buffer_of(client: Any, **options: Any) -> Iterator[Any]:
    """Yields a buffer of the client's kind, by default without fleet calls."""
    inner: Any = client._target
    options = {"fleet_calls": False, **options}
    if client._loop is None:
        yield ObservationBuffer(inner, **options)
        return

    async def make() -> AsyncObservationBuffer:
        return AsyncObservationBuffer(inner, **options)

    yield AsyncBuffer(client._loop.run_until_complete(make()), client._loop)


class AsyncBuffer(Driven):
    """Wraps a buffer on an event loop, and awaits its coroutines."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            return value

        async def call(*args: Any, **kwargs: Any) -> Any:
            result = value(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result

        return lambda *args, **kwargs: self._driven(call(*args, **kwargs))


def processed(request: Request) -> Reply:
    return data({**state(), "processed_count": len(request.json["observations"])})


def test_observations_without_timestamps_are_sent_a_second_apart(kind: Kind) -> None:
    with serving(processed) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, batch_max=40) as buffer:
            for _ in range(100):
                buffer.add(ONE, OBSERVATION)
            closed = buffer.close()
    assert (closed.acknowledged, closed.rejected, closed.unacknowledged) == (100, (), ())
    sizes = [len(request.json["observations"]) for request in server.requests]
    assert sum(sizes) == 100
    assert max(sizes) == 40
    times = [
        datetime.fromisoformat(each["timestamp"].replace("Z", "+00:00"))
        for request in server.requests
        for each in request.json["observations"]
    ]
    assert all(b - a >= timedelta(seconds=1) for a, b in pairwise(times))
    assert len({request.headers["idempotency-key"] for request in server.requests}) == len(sizes)


# Report 2: a buffer moved a caller's timestamps that were less than a second apart.
def test_caller_timestamps_are_never_changed(kind: Kind) -> None:
    day = datetime(2020, 2, 29, 23, 59, 58, 999_999, tzinfo=timezone(timedelta(hours=2)))
    with serving(processed) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            for seconds in (0.0, 0.4, 1.5, 60.0):
                at = day + timedelta(seconds=seconds)
                buffer.add(ONE, {**OBSERVATION, "timestamp": at})
            buffer.close()
    sent = [[each["timestamp"] for each in one.json["observations"]] for one in server.requests]
    assert sent == [
        ["2020-02-29T23:59:58.999999+02:00"],
        [
            "2020-02-29T23:59:59.399999+02:00",
            "2020-03-01T00:00:00.499999+02:00",
            "2020-03-01T00:00:58.999999+02:00",
        ],
    ]


def test_body_never_exceeds_the_maximum_of_the_service(kind: Kind) -> None:
    with serving(processed) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            for _ in range(100):
                buffer.add(ONE, {**OBSERVATION, "context": {"text": "é" * 4_000}})
            assert buffer.close().acknowledged == 100
    assert len(server.requests) >= 4
    assert max(len(request.body) for request in server.requests) <= 256 * 1_024


def test_invalid_api_key_stops_the_buffer_and_returns_everything(kind: Kind) -> None:
    with serving(script(refusal(401, "unauthorized"))) as server:
        with client_of(kind, server.base_url) as client, buffer_of(client) as buffer:
            for number in range(3):
                buffer.add(ONE, {**OBSERVATION, "context": {"n": number}})
            assert isinstance(raised(buffer.flush), UnauthorizedError)
            assert isinstance(buffer.error, UnauthorizedError)
            assert isinstance(raised(lambda: buffer.add(ONE, OBSERVATION)), UnauthorizedError)
            closed = buffer.close()
    (batch,) = closed.unacknowledged
    assert [each["context"]["n"] for each in batch.observations] == [0, 1, 2]
    assert batch.may_have_happened is False
    assert len(server.requests) == 1


def test_unknown_instance_rejects_only_its_observations(kind: Kind) -> None:
    rejected: list[Rejected] = []

    def answer(request: Request) -> Reply:
        return refusal(404, "not_found") if OTHER in request.path else processed(request)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, on_rejected=rejected.append) as buffer:
            for _ in range(5):
                buffer.add(ONE, OBSERVATION)
                buffer.add(OTHER, OBSERVATION)
            buffer.flush()
            assert buffer.pending == 0
            closed = buffer.close()
    assert closed.acknowledged == 5
    assert [each.instance_id for each in rejected] == [OTHER] * 5


def test_batch_refused_as_too_large_is_split(kind: Kind) -> None:
    def answer(request: Request) -> Reply:
        too_large = len(request.json["observations"]) > 3
        large = refusal(413, "invalid_request", reason="body_too_large")
        return large if too_large else processed(request)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            for number in range(10):
                buffer.add(ONE, {**OBSERVATION, "context": {"n": number}})
            assert buffer.close().acknowledged == 10
    taken = [
        each["context"]["n"]
        for request in server.requests
        if len(request.json["observations"]) <= 3
        for each in request.json["observations"]
    ]
    assert taken == [*range(10)]


@pytest.mark.parametrize("fault", ["silence", "close"])
def test_batch_with_unknown_outcome_is_returned_with_its_key(kind: Kind, fault: Fault) -> None:
    with serving(script(fault)) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            began_s = time.monotonic()
            closed = buffer.close(timeout_s=0.5)
            assert time.monotonic() - began_s < 3
        key = server.requests[0].headers["idempotency-key"]
        body = server.requests[0].body
    (batch,) = closed.unacknowledged
    assert (batch.idempotency_key, batch.may_have_happened) == (key, True)
    saved = UnacknowledgedBatch.model_validate_json(batch.model_dump_json())
    with serving(processed) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            assert buffer.restore([saved]) == []
            buffer.add(ONE, OBSERVATION)
            assert buffer.close().acknowledged == 2
        assert server.requests[0].headers["idempotency-key"] == key
        assert server.requests[0].body == body, "the same bytes"


def test_batch_with_an_old_key_is_not_sent_if_it_may_have_been_applied(kind: Kind) -> None:
    old = UnacknowledgedBatch(
        instance_id=ONE,
        idempotency_key="k",
        observations=({**OBSERVATION, "timestamp": "2026-01-01T00:00:00.000Z"},),
        may_have_happened=True,
        first_sent_at=datetime.now(timezone.utc) - timedelta(hours=25),
    )
    sure = old.model_copy(update={"may_have_happened": False})
    with serving(processed) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            assert buffer.restore([old, sure]) == [old]
            assert buffer.close().acknowledged == 1


def test_add_waits_while_the_buffer_is_full(kind: Kind) -> None:
    go_on = threading.Event()

    def answer(request: Request) -> Reply:
        go_on.wait(5)
        return processed(request)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, pending_max=3, delay_max_s=0) as buffer:
            for _ in range(3):
                buffer.add(ONE, OBSERVATION)
            threading.Timer(0.3, go_on.set).start()
            began_s = time.monotonic()
            buffer.add(ONE, OBSERVATION)
            assert time.monotonic() - began_s > 0.2
            assert buffer.close().acknowledged == 4


def test_add_raises_for_an_invalid_timestamp(kind: Kind) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client, buffer_of(client) as buffer:
        for wrong in ({"timestamp": "yesterday"}, {"timestamp": "2026-01-01T00:00:00"}):
            with pytest.raises(ValueError, match="is not an RFC 3339 time"):
                buffer.add(ONE, {**OBSERVATION, **wrong})
        buffer.close()
        assert isinstance(raised(lambda: buffer.add(ONE, OBSERVATION)), BufferClosedError)


@pytest.mark.parametrize(
    "options", [{"batch_max": 0}, {"batch_max": 101}, {"delay_max_s": -1}, {"pending_max": 0}]
)
def test_bounds_out_of_range_are_refused(kind: Kind, options: dict[str, Any]) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:

        def make() -> None:
            with buffer_of(client, **options):
                pass

        assert isinstance(raised(make), ConfigurationError)


def test_raising_hook_does_not_stop_a_buffer(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    def hook(_: object) -> None:
        raise RuntimeError("of the hook")

    with serving(processed) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, on_acknowledged=hook) as buffer:
            buffer.add(ONE, OBSERVATION)
            assert buffer.close().acknowledged == 1
    assert "a hook of an observation buffer" in caplog.text


def test_many_threads_can_add(service: str) -> None:
    """The real service receives all observations, in the order of each thread."""
    key = os.environ["IDENTITY_ENGINE_API_KEY"]
    with client_of("sync", service, api_key=key) as client:
        ids = [client.instances.create(f"thread {n}").data.id for n in range(8)]
        with buffer_of(client) as buffer:

            def add(name: str) -> None:
                for number in range(150):
                    buffer.add(name, {**OBSERVATION, "context": {"n": number}})

            threads = [threading.Thread(target=add, args=(name,)) for name in ids]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            closed = buffer.close()
        assert (closed.acknowledged, closed.unacknowledged) == (1_200, ())
        for name in ids:
            numbers = [each.context["n"] for each in client.instance(name).iterate_history()]
            assert numbers == [*range(149, -1, -1)]
            client.instances.delete(name)


def test_synchronous_buffer_works_on_threads_of_an_asynchronous_program() -> None:
    async def main() -> None:
        with serving(processed) as server, client_of("sync", server.base_url) as client:
            with buffer_of(client) as buffer:
                await asyncio.to_thread(buffer.add, ONE, OBSERVATION)
                closed = await asyncio.to_thread(buffer.close)
                assert closed.acknowledged == 1

    asyncio.run(main())
