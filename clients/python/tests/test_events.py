"""The live stream of an instance."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import AsyncIdentityEngine, errors
from identity_engine._async import events as async_events
from identity_engine._sync import events as sync_events
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
def test_it_resumes_behind_the_last_event(kind: Kind, then: Any) -> None:
    answers = script(stream(RETRY, cycle(1), cycle(2), then=then), stream(RETRY, cycle(3), DELETED))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.instance(INSTANCE).events(after=0)
        assert types_of(events) == ["cycle 1", "cycle 2", "cycle 3", "deleted"]
        assert events.last_event_id == "3"
    assert [request.headers.get("last-event-id") for request in server.requests] == ["0", "2"]
    assert server.requests[0].headers["accept"] == "text/event-stream"


def test_it_waits_out_what_passes(kind: Kind) -> None:
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
def test_it_ends_with_what_would_come_again(
    kind: Kind, answer: Reply, error: type[Exception]
) -> None:
    answers = script(stream(RETRY, cycle(1)), answer)
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = iter(client.instance(INSTANCE).events())
        assert next(events).id == 1
        assert isinstance(raised(lambda: next(events)), error)
    assert len(server.requests) == 2


def test_silence_is_a_dead_connection(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (async_events, sync_events):
        monkeypatch.setattr(module, "SILENCE_S_MAX", 0.2)
    answers = script(stream(RETRY, cycle(1), then="open"), stream(RETRY, cycle(2), DELETED))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.instance(INSTANCE).events(after=0)
        assert types_of(events) == ["cycle 1", "cycle 2", "deleted"]


def test_comments_keep_it_alive(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (async_events, sync_events):
        monkeypatch.setattr(module, "SILENCE_S_MAX", 0.5)
    pieces = (": keep-alive\n\n",) * 8
    blocks = tuple(block.encode() for block in (RETRY, *pieces, DELETED))
    answer = Reply(200, STREAM, chunks=blocks, pause_s=0.1)
    with serving(script(answer)) as server, client_of(kind, server.base_url) as client:
        assert types_of(client.instance(INSTANCE).events()) == ["deleted"]
    assert len(server.requests) == 1


def test_a_block_with_only_an_id_says_where_to_resume(kind: Kind) -> None:
    answers = script(stream(RETRY, "id: 7\n\n"), stream(DELETED))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        assert types_of(client.instance(INSTANCE).events()) == ["deleted"]
    assert [request.headers.get("last-event-id") for request in server.requests] == [None, "7"]


def test_events_of_a_later_release_come_as_they_are(kind: Kind) -> None:
    later = 'event: mood\ndata: {"level":\ndata:  3}\n\n'
    with serving(script(stream(later, DELETED))) as server:
        with client_of(kind, server.base_url) as client:
            event = next(iter(client.instance(INSTANCE).events()))
    assert (event.type, event.name, event.data) == ("unknown", "mood", {"level": 3})


def test_blocks_may_be_cut_anywhere(kind: Kind) -> None:
    text = (cycle(1) + cycle(2) + DELETED).encode()
    pieces = tuple(text[index : index + 1] for index in range(len(text)))
    with serving(script(Reply(200, STREAM, chunks=pieces))) as server:
        with client_of(kind, server.base_url) as client:
            events = list(client.instance(INSTANCE).events(after=0))
    assert types_of(events) == ["cycle 1", "cycle 2", "deleted"]
    assert events[0].data.observation.context == {"text": "a\u2028b"}


def test_closing_it_ends_the_connection(kind: Kind) -> None:
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


def test_a_wait_that_is_cancelled_loses_no_event() -> None:
    """The stream goes on behind the last one."""
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


def test_a_stream_that_ended_with_an_error_stays_ended(kind: Kind) -> None:
    answers = script(refusal(401, "unauthorized"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.instance(INSTANCE).events()
        assert isinstance(raised(lambda: next(iter(events))), errors.UnauthorizedError)
        assert list(events) == []
    assert len(server.requests) == 1
