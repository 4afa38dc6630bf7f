"""The live stream of an instance."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import pytest

from both_clients import KEY, Kind, client_of, client_with, raised
from identity_engine import AsyncIdentityEngine, AttemptEvent, errors
from identity_engine._async import follower as async_events
from identity_engine._async import hub as async_hub
from identity_engine._sync import follower as sync_events
from identity_engine._sync import hub as sync_hub
from test_guard import state
from wire_server import Fault, Reply, Request, refusal, script, serving

STREAM = {"Content-Type": "text/event-stream"}
INSTANCE = "inst_0123456789abcdef"


def cycle(ordinal: int) -> str:
    observation = {
        "cycle": ordinal,
        "mode_target": "ORDER",
        "signal_strength": 0.5,
        "confidence": 1,
        "context": {"text": "a\u2028b"},
        "timestamp": "2026-01-15T12:00:00.000Z",
        "generation": 1,
    }
    text = json.dumps({"observation": observation, "drift": None}, ensure_ascii=False)
    return f"id: {ordinal}\nevent: cycle\ndata: {text}\n\n"


DELETED = "event: deleted\ndata: {}\n\n"
RETRY = "retry: 10\n\n"


def stream(*blocks: str, then: Any = "end") -> Reply:
    return Reply(200, STREAM, chunks=tuple(block.encode() for block in blocks), then=then)


def types_of(events: Any) -> list[str]:
    return [f"{event.type} {getattr(event, 'id', '')}".strip() for event in events]


@pytest.mark.parametrize("then", ["end", "cut"])
def test_stream_resumes_after_the_last_event(kind: Kind, then: Any) -> None:
    answers = script(stream(RETRY, cycle(1), cycle(2), then=then), stream(RETRY, cycle(3), DELETED))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.instance(INSTANCE).events(after=0)
        assert types_of(events) == ["cycle 1", "cycle 2", "cycle 3", "deleted"]
        assert events.last_event_id == "3"
    assert [request.headers.get("last-event-id") for request in server.requests] == ["0", "2"]
    assert server.requests[0].headers["accept"] == "text/event-stream"


def test_stream_reconnects_after_temporary_failures(kind: Kind) -> None:
    faults: list[Reply | Fault] = [
        "close",
        "garbage",
        refusal(503, "service_unavailable", retry_after=0, reason="shutting_down"),
        refusal(429, "rate_limited", retry_after=0, reason="too_many_streams"),
        Reply(502, {"Content-Type": "text/html"}, b"<html>"),
    ]
    answers = script(stream(RETRY, cycle(1)), *faults, stream(RETRY, cycle(2), DELETED))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.instance(INSTANCE).events(after=0)
        assert types_of(events) == ["cycle 1", "cycle 2", "deleted"]
    assert len(server.requests) == 7


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refusal(400, "invalid_request", reason="invalid_header"), errors.InvalidRequestError),
        (refusal(401, "unauthorized"), errors.UnauthorizedError),
        (refusal(403, "forbidden"), errors.ForbiddenError),
        (refusal(404, "not_found"), errors.NotFoundError),
        (Reply(200, {"Content-Type": "text/html"}, b"<html>"), errors.MalformedAnswerError),
        (stream("event: state\ndata: {}\n\n"), errors.MalformedAnswerError),
    ],
)
def test_stream_raises_permanent_failures(
    kind: Kind, answer: Reply, error: type[Exception]
) -> None:
    answers = script(stream(RETRY, cycle(1)), answer)
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = iter(client.instance(INSTANCE).events())
        assert next(events).id == 1
        assert isinstance(raised(lambda: next(events)), error)
    assert len(server.requests) == 2


def test_silent_connection_is_replaced(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (async_events, sync_events):
        monkeypatch.setattr(module, "SILENCE_S_MAX", 0.2)
    answers = script(stream(RETRY, cycle(1), then="open"), stream(RETRY, cycle(2), DELETED))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.instance(INSTANCE).events(after=0)
        assert types_of(events) == ["cycle 1", "cycle 2", "deleted"]


def test_comments_keep_the_connection_alive(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (async_events, sync_events):
        monkeypatch.setattr(module, "SILENCE_S_MAX", 0.5)
    pieces = (": keep-alive\n\n",) * 8
    blocks = tuple(block.encode() for block in (RETRY, *pieces, DELETED))
    answer = Reply(200, STREAM, chunks=blocks, pause_s=0.1)
    with serving(script(answer)) as server, client_of(kind, server.base_url) as client:
        assert types_of(client.instance(INSTANCE).events()) == ["deleted"]
    assert len(server.requests) == 1


def test_stream_resumes_after_a_block_with_only_an_id(kind: Kind) -> None:
    answers = script(stream(RETRY, "id: 7\n\n"), stream(DELETED))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        assert types_of(client.instance(INSTANCE).events()) == ["deleted"]
    assert [request.headers.get("last-event-id") for request in server.requests] == [None, "7"]


def test_unknown_events_are_delivered_unchanged(kind: Kind) -> None:
    later = 'event: mood\ndata: {"level":\ndata:  3}\n\n'
    with serving(script(stream(later, DELETED))) as server:
        with client_of(kind, server.base_url) as client:
            event = next(iter(client.instance(INSTANCE).events()))
    assert (event.type, event.name, event.data) == ("unknown", "mood", {"level": 3})


def test_blocks_can_be_split_anywhere(kind: Kind) -> None:
    text = (cycle(1) + cycle(2) + DELETED).encode()
    pieces = tuple(text[index : index + 1] for index in range(len(text)))
    with serving(script(Reply(200, STREAM, chunks=pieces))) as server:
        with client_of(kind, server.base_url) as client:
            events = list(client.instance(INSTANCE).events(after=0))
    assert types_of(events) == ["cycle 1", "cycle 2", "deleted"]
    assert events[0].data.observation.context == {"text": "a\u2028b"}


def test_closed_stream_yields_no_more_events(kind: Kind) -> None:
    ended = threading.Event()

    def answer(_: Request) -> Reply:
        return stream(RETRY, cycle(1), then="open")

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        events = client.instance(INSTANCE).events(after=0)
        assert next(iter(events)).id == 1
        (events.close if kind == "sync" else events.aclose)()
        assert list(events) == []
        ended.set()
    assert ended.is_set()


def test_cancelled_wait_loses_no_event() -> None:
    """The stream resumes after the last event."""
    answers = script(stream(RETRY, cycle(1), then="open"), stream(RETRY, cycle(2), DELETED))

    async def main(base_url: str) -> list[str]:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url) as client:
            events = client.instance(INSTANCE).events(after=0)
            seen = [await events.__anext__()]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(events.__anext__(), 0.2)
            return types_of([*seen, *[event async for event in events]])

    with serving(answers) as server:
        assert asyncio.run(main(server.base_url)) == ["cycle 1", "cycle 2", "deleted"]
    assert [request.headers.get("last-event-id") for request in server.requests] == ["0", "1"]


def test_failed_stream_stays_ended(kind: Kind) -> None:
    answers = script(refusal(401, "unauthorized"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.instance(INSTANCE).events()
        assert isinstance(raised(lambda: next(iter(events))), errors.UnauthorizedError)
        assert list(events) == []
    assert len(server.requests) == 1


TOO_MANY = refusal(429, "rate_limited", retry_after=0, reason="too_many_streams")


# Report 16: a stream beyond the key's limit stayed silent forever.
def test_stream_beyond_the_limit_raises(kind: Kind) -> None:
    with serving(script(TOO_MANY)) as server:
        with client_of(kind, server.base_url, timeout_s=0.3) as client:
            error = raised(lambda: next(iter(client.instance(INSTANCE).events())))
    assert isinstance(error, errors.RateLimitedError)
    assert error.reason == "too_many_streams"
    assert error.attempts == len(server.requests) > 1


STATE = f"event: state\ndata: {json.dumps(state())}\n\n"


# Report 16: each watcher used a separate stream of the key.
def test_watchers_of_an_instance_share_a_stream(kind: Kind) -> None:
    blocks = (RETRY, "id: 4\n\n", STATE, cycle(5), cycle(6), DELETED)
    with serving(script(stream(*blocks))) as server, client_of(kind, server.base_url) as client:
        first, second, third = (iter(client.instance(INSTANCE).events()) for _ in range(3))
        assert types_of([next(first), next(first)]) == ["state", "cycle 5"]
        assert types_of([next(second), next(second)]) == ["state", "cycle 5"]
        assert types_of([next(third)]) == ["state"]
        assert types_of(first) == types_of(third)[1:] == ["cycle 6", "deleted"]
        assert types_of(second) == ["cycle 6", "deleted"]
    assert len(server.requests) == 1


def test_stream_with_after_has_its_own_connection(kind: Kind) -> None:
    answers = script(stream(STATE, DELETED), stream(cycle(3), DELETED))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        live, behind = client.instance(INSTANCE).events(), client.instance(INSTANCE).events(after=2)
        assert types_of(live) == ["state", "deleted"]
        assert types_of(behind) == ["cycle 3", "deleted"]
    assert len(server.requests) == 2


# Report 16: a slow watcher on a shared stream must neither delay others nor miss an event.
def test_slow_watcher_continues_over_its_own_connection(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (async_hub, sync_hub):
        monkeypatch.setattr(module, "UNREAD_MAX", 3)
    whole = stream("id: 0\n\n", STATE, *(cycle(n) for n in range(1, 9)), DELETED)
    rest = stream(*(cycle(n) for n in range(4, 9)), DELETED)
    with serving(script(whole, rest)) as server, client_of(kind, server.base_url) as client:
        quick, slow = (iter(client.instance(INSTANCE).events()) for _ in range(2))
        assert types_of([next(quick), next(slow)]) == ["state", "state"]
        wanted = [*(f"cycle {n}" for n in range(1, 9)), "deleted"]
        assert types_of(quick) == wanted
        assert types_of(slow) == wanted
    assert [request.headers.get("last-event-id") for request in server.requests] == [None, "3"]


# Report 16: concurrently waiting watchers must all receive the next event.
def test_concurrent_watchers_all_receive_the_next_event() -> None:
    answer = Reply(200, STREAM, chunks=(STATE.encode(), DELETED.encode()), pause_s=0.2)

    async def watch(client: AsyncIdentityEngine) -> list[str]:
        return types_of([event async for event in client.instance(INSTANCE).events()])

    async def main(base_url: str) -> list[list[str]]:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url) as client:
            return await asyncio.gather(*(watch(client) for _ in range(30)))

    with serving(script(answer)) as server:
        assert asyncio.run(main(server.base_url)) == [["state", "deleted"]] * 30
        assert len(server.requests) == 1
        with client_of("sync", server.base_url) as client:
            seen: list[list[str]] = []

            def watch_here() -> None:
                seen.append(types_of(client.instance(INSTANCE).events()))

            threads = [threading.Thread(target=watch_here) for _ in range(10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert seen == [["state", "deleted"]] * 10
        assert len(server.requests) == 2


# Report 16: a watcher that leaves must not end the shared stream.
def test_closed_or_cancelled_watcher_does_not_end_the_stream_of_others() -> None:
    answers = script(stream(RETRY, "id: 4\n\n", STATE, then="open"), stream(cycle(5), DELETED))

    async def main(base_url: str) -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url) as client:
            one, two, three = (client.instance(INSTANCE).events() for _ in range(3))
            for each in (one, two, three):
                assert (await each.__anext__()).type == "state"
            await one.aclose()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(two.__anext__(), 0.2)
            assert types_of([event async for event in three]) == ["cycle 5", "deleted"]
            assert types_of([event async for event in two]) == ["cycle 5", "deleted"]

    with serving(answers) as server:
        asyncio.run(main(server.base_url))
    assert [request.headers.get("last-event-id") for request in server.requests] == [None, "4"]


def test_streams_of_a_view_send_its_headers_over_their_own_connection(kind: Kind) -> None:
    answers = script(stream(RETRY, "id: 4\n\n", STATE, then="open"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        view = client.with_headers({"x-game": "a"})
        handles = [each.instance(INSTANCE) for each in (client, view, client, view)]
        streams = [iter(handle.events()) for handle in handles]
        assert [next(events).type for events in streams] == ["state"] * 4
    assert [request.headers.get("x-game") for request in server.requests] == [None, "a"]
    assert [request.headers["accept"] for request in server.requests] == ["text/event-stream"] * 2


def test_redirect_is_not_followed_with_an_http_client_that_follows(kind: Kind) -> None:
    with serving(script(stream(DELETED))) as elsewhere:
        moved = Reply(307, {"Location": f"{elsewhere.base_url}/events"}, b"")
        with serving(script(stream(RETRY), moved, stream(DELETED))) as server:
            with client_with(kind, server.base_url, follow_redirects=True) as client:
                assert types_of(client.instance(INSTANCE).events()) == ["deleted"]
    assert len(server.requests) == 3
    assert elsewhere.requests == []


def test_connections_are_reported_like_attempts(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[AttemptEvent] = []
    busy = refusal(503, "service_unavailable", reason="shutting_down")
    answers = script(stream(RETRY), busy, "close", stream(DELETED))
    with caplog.at_level(logging.DEBUG, "identity_engine"), serving(answers) as server:
        with client_of(kind, server.base_url, on_attempt=seen.append) as client:
            assert types_of(client.instance(INSTANCE).events()) == ["deleted"]
    assert [event.attempt for event in seen] == [1, 1, 2, 3]
    assert [event.status for event in seen] == [200, 503, None, 200]
    assert [type(event.error).__name__ for event in seen] == [
        *("NoneType", "ServiceUnavailableError", "ConnectionError", "NoneType")
    ]
    assert {event.path for event in seen} == {f"/instances/{INSTANCE}/events"}
    assert caplog.messages[1].startswith(f"GET /instances/{INSTANCE}/events, attempt 1: 503")
    assert f"attempt 3: 200, after {seen[3].duration_s * 1_000:.0f} ms" in caplog.messages[3]
