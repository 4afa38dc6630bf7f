"""Clients, streams, buffers and keys created before a fork."""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import (
    AsyncIdentityEngine,
    AsyncObservationBuffer,
    ConfigurationError,
    uuid7,
)
from identity_engine._core.guards import Guards
from identity_engine._core.process import Lock
from test_async import ACCOUNT
from test_attempts import UPDATED
from test_buffer import OBSERVATION, ONE, buffer_of, processed
from test_events import DELETED, RETRY, cycle, stream
from test_guard import answer as answer_of_guard
from wire_server import Fault, Reply, Request, data, serving

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

CHILD_S_MAX = 40.0
"""Timeout of a child process, in seconds. A hanging child fails its test."""


@contextmanager
def forked(work: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Runs ``work`` in a child process. Yields a function that returns the result of ``work``."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            faulthandler.dump_traceback_later(CHILD_S_MAX, exit=True)
            outcome = {"value": work()}
        except BaseException as error:
            outcome = {"error": f"{type(error).__name__}: {error}"}
        os.write(writing, json.dumps(outcome).encode())
        os._exit(0)
    os.close(writing)
    found: list[Any] = []

    def outcome_of() -> Any:
        if not found:
            with os.fdopen(reading, "rb") as pipe:
                found.append(json.loads(pipe.read() or b'{"error": "the child hung"}'))
            os.waitpid(child, 0)
        assert "error" not in found[0], found[0]["error"]
        return found[0]["value"]

    try:
        yield outcome_of
    finally:
        if not found:
            outcome_of()


def named(request: Request) -> Reply:
    """Answers with the instance id of the request."""
    return data({**UPDATED, "id": request.path.rsplit("/", 1)[1]})


# Report 1: forked children shared pooled sockets and received answers to other requests.
def test_each_process_receives_the_answers_to_its_own_calls(kind: Kind) -> None:
    with serving(named) as server, client_of(kind, server.base_url) as client:
        client.instances.update("inst_of_the_parent", name="Ada")

        def wrong_of(process: str) -> int:
            ids = [f"inst_{process}_{number}" for number in range(30)]
            return sum(client.instances.update(id, name="Ada").data.id != id for id in ids)

        with forked(lambda: wrong_of("a")) as first, forked(lambda: wrong_of("b")) as second:
            assert wrong_of("parent") == 0
            assert (first(), second()) == (0, 0)
        assert server.connections == 3


def test_closing_a_client_in_a_child_keeps_the_connection_of_the_parent(kind: Kind) -> None:
    with serving(named) as server, client_of(kind, server.base_url) as client:
        client.instances.update(ONE, name="Ada")

        def close() -> None:
            client.close() if kind == "sync" else client.aclose()

        with forked(close) as outcome:
            outcome()
        client.instances.update(ONE, name="Ada")
        assert server.connections == 1


# Report 1: a child waited for slots that only its parent's calls held.
def test_calls_of_the_parent_use_no_slot_in_the_child() -> None:
    silent: list[Request] = []

    def answer(request: Request) -> Reply | Fault:
        if request.path.endswith("account"):
            return ACCOUNT
        silent.append(request)
        return "silence"

    with serving(answer) as server, client_of("sync", server.base_url, timeout_s=5) as client:
        calls = [
            threading.Thread(target=lambda: raised(lambda: client.instances.get(ONE)), daemon=True)
            for _ in range(100)
        ]
        for call in calls:
            call.start()
        while len(silent) < 100:
            threading.Event().wait(0.01)
        with forked(lambda: client.account.get(timeout_s=3).status) as outcome:
            assert outcome() == 200


def test_an_asynchronous_client_works_in_a_new_event_loop_of_a_child() -> None:
    with serving(named) as server:
        client = AsyncIdentityEngine(api_key=KEY, base_url=server.base_url)

        async def rename(id: str) -> str:
            return (await client.instances.update(id, name="Ada")).data.id

        async def main() -> None:
            assert await rename("inst_parent") == "inst_parent"
            with forked(lambda: asyncio.run(rename("inst_child"))) as outcome:
                assert await rename("inst_parent") == "inst_parent"
                assert outcome() == "inst_child"
            await client.aclose()

        asyncio.run(main())
        assert server.connections == 2


# Report 1: a child used a caller's httpx client, whose connections belong to the parent.
def test_an_httpx_client_of_the_caller_is_refused_in_a_child() -> None:
    with serving(named) as server, httpx.Client() as http:
        with client_of("sync", server.base_url, http_client=http) as client:
            client.instances.update(ONE, name="Ada")
            call: Callable[[], Any] = lambda: client.instances.update(ONE, name="Ada")  # noqa: E731
            with forked(lambda: repr(raised(call))) as outcome:
                assert outcome().startswith(ConfigurationError.__name__)
                assert "before the fork" in outcome()
            client.instances.update(ONE, name="Ada")
        assert server.connections == 1


# Report 1: a child and its parent read alternately from one event stream.
def test_child_follows_a_stream_over_its_own_connection(kind: Kind) -> None:
    def answer(request: Request) -> Reply:
        if "last-event-id" in request.headers and request.headers["last-event-id"] != "0":
            return stream(RETRY, cycle(2), cycle(3), DELETED)
        blocks = (block.encode() for block in (RETRY, cycle(1), cycle(2), cycle(3), DELETED))
        return Reply(200, stream().headers, chunks=tuple(blocks), pause_s=0.2)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        events = iter(client.instance(ONE).events(after=0))
        assert next(events).id == 1

        def follow() -> list[str]:
            return [event.type for event in events]

        with forked(follow) as outcome:
            assert follow() == ["cycle", "cycle", "deleted"]
            assert outcome() == ["cycle", "cycle", "deleted"]
        assert server.connections == 2


# Report 1: a buffer's flush, add and close hung forever in a child.
def test_buffer_is_empty_in_a_child_and_the_parent_sends_its_observations() -> None:
    go_on = threading.Event()
    seen: list[int] = []

    def answer(request: Request) -> Reply:
        seen.extend(each["context"]["n"] for each in request.json["observations"])
        if seen == [1]:
            go_on.wait(10)
        return processed(request)

    with serving(answer) as server, client_of("sync", server.base_url) as client:
        with buffer_of(client, delay_max_s=0) as buffer:
            buffer.add(ONE, {**OBSERVATION, "context": {"n": 1}})

            def use() -> list[int]:
                pending = [buffer.pending]
                buffer.flush()
                buffer.add(ONE, {**OBSERVATION, "context": {"n": 2}})
                buffer.flush()
                return [*pending, buffer.close().acknowledged]

            with forked(use) as outcome:
                go_on.set()
                assert outcome() == [0, 1]
            assert buffer.close().acknowledged == 1
    assert sorted(seen) == [1, 2]


def test_closed_buffer_stays_closed_in_a_child(kind: Kind) -> None:
    with serving(processed) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.close()
            with forked(lambda: repr(raised(lambda: buffer.add(ONE, OBSERVATION)))) as outcome:
                assert outcome().startswith("BufferClosedError")


# Report 1: a lock held by a parent's thread at the fork stayed held in the child forever.
def test_locks_are_free_in_a_child() -> None:
    lock = Lock()

    def take() -> bool:
        with lock:
            return True

    with lock, forked(take) as outcome:
        assert outcome() is True


# Report 1: a guard hung in a child if a thread of its parent updated it at the fork.
def test_a_guard_works_in_a_child_of_a_process_that_updates_it(kind: Kind) -> None:
    with serving(answer_of_guard) as server, client_of(kind, server.base_url) as client:
        guard = client.instance(ONE).guard()
        inner: Any = guard._target
        handle: Any = inner._fetch.__self__
        guards: Guards = handle._guards
        with inner._lock, guards._lock:
            with forked(lambda: guard.refresh().forbidden_actions) as outcome:
                assert outcome() == ["explore"]


def test_parent_and_children_create_different_keys() -> None:
    uuid7()
    with forked(lambda: [uuid7() for _ in range(1_000)]) as first:
        with forked(lambda: [uuid7() for _ in range(1_000)]) as second:
            mine = [uuid7() for _ in range(1_000)]
            assert len({*mine, *first(), *second()}) == 3_000


# Report 1: an asynchronous buffer in a child waited for tasks of its parent.
def test_an_asynchronous_buffer_begins_empty_in_a_new_event_loop_of_a_child() -> None:
    async def use(buffer: AsyncObservationBuffer) -> list[int]:
        pending = buffer.pending
        await buffer.add(ONE, OBSERVATION)
        return [pending, (await buffer.close()).acknowledged]

    async def main() -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=server.base_url) as client:
            buffer = AsyncObservationBuffer(client)
            await buffer.add(ONE, OBSERVATION)
            with forked(lambda: asyncio.run(use(buffer))) as outcome:
                assert outcome() == [0, 1]
            assert await use(buffer) == [1, 2]

    with serving(processed) as server:
        asyncio.run(main())


# Report 1: a parent's buffer tasks continued in a child that ran the parent's event loop.
def test_buffer_refuses_an_event_loop_created_before_the_fork() -> None:
    with serving(processed) as server, client_of("async", server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            with forked(lambda: repr(raised(lambda: buffer.add(ONE, OBSERVATION)))) as outcome:
                assert "before the fork" in outcome()
            assert buffer.close().acknowledged == 1
    assert len(server.requests) == 1
