"""The events of an account."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import AsyncIdentityEngine, AttemptEvent, errors
from wire_server import LIMITS, Reply, Request, refusal, script, serving

STREAM = {"Content-Type": "text/event-stream"}
RETRY = "retry: 1\n\n"
EXPIRED = refusal(410, "invalid_request", reason="cursor_expired")


@pytest.fixture(autouse=True)
def no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)


def event(number: int) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "type": "drift_changed",
        "instance_id": "inst_0123456789abcdef",
        "occurred_at": "2026-01-15T12:00:00.000Z",
        "cycle": number,
        "from": "D0",
        "to": "D1",
    }


def block(number: int) -> str:
    return f"id: c{number}\nevent: drift_changed\ndata: {json.dumps(event(number))}\n\n"


def stream(*blocks: str, then: Any = "end") -> Reply:
    return Reply(200, STREAM, chunks=("".join(blocks).encode(),), then=then)


def name_of(item: Any) -> str:
    return "gap" if item.type == "gap" else item.event.id


def names_of(items: Iterator[Any], number: int) -> list[str]:
    return [name_of(next(items)) for _ in range(number)]


def first_of(client: Any, **options: Any) -> Any:
    return next(iter(client.events.follow(**options)))


def end(events: Any) -> None:
    (events.close if hasattr(events._target, "close") else events.aclose)()


# Catches a resume after the received blocks instead of after the delivered item.
def test_stream_resumes_at_the_item_at_which_its_consumer_left(kind: Kind) -> None:
    answers = script(stream(RETRY, block(1), block(2), block(3)), stream(block(2), then="open"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        first = client.events.follow()
        item = next(iter(first))
        assert (item.event.id, item.event.from_, item.cursor) == ("e1", "D0", "c1")
        end(first)
        assert first.cursor == "c1"
        second = client.events.follow(cursor=first.cursor)
        assert names_of(iter(second), 1) == ["e2"]
        end(second)
    assert server.requests[1].headers["last-event-id"] == "c1"


# Catches an id that is used before its block is complete, and an id that is not used at all.
def test_each_event_arrives_once_over_connections_that_break_anywhere(kind: Kind) -> None:
    lengths = count(20, 97)

    def answer(request: Request) -> Reply:
        last = int(request.headers.get("last-event-id", "c0")[1:])
        whole = (RETRY + "".join(block(number) for number in range(last + 1, 9))).encode()
        return Reply(200, STREAM, chunks=(whole[: next(lengths)],), then="cut")

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        events = client.events.follow(start="oldest")
        assert names_of(iter(events), 8) == [f"e{number}" for number in range(1, 9)]
        end(events)
    assert len(server.requests) > 4


# Catches a cursor that expires because all events are hidden for days.
def test_cursor_moves_past_hidden_events(kind: Kind) -> None:
    answers = script(stream(RETRY, block(1), "id: c9\n\n"), stream(block(10), then="open"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.events.follow(types=["drift_changed", "deleted"])
        assert names_of(iter(events), 2) == ["e1", "e10"]
        end(events)
    assert server.requests[1].headers["last-event-id"] == "c9"
    assert [request.query for request in server.requests] == [
        {"types": "drift_changed,deleted"},
        {"types": "drift_changed,deleted"},
    ]


# Catches a silent gap, and a reconnect with the expired cursor for ever.
def test_expired_cursor_is_a_gap_before_the_oldest_event(kind: Kind) -> None:
    with serving(script(EXPIRED, stream(block(5), then="open"))) as server:
        with client_of(kind, server.base_url) as client:
            events = client.events.follow(cursor="c1", start="newest")
            items = iter(events)
            gap = next(items)
            assert (gap.type, gap.cursor, events.cursor) == ("gap", "c1", "c1")
            assert (name_of(next(items)), events.cursor) == ("e5", "c5")
            end(events)
    assert [request.query["start"] for request in server.requests] == ["newest", "oldest"]
    assert "last-event-id" not in server.requests[1].headers


# Catches an endless loop of gaps.
def test_expired_position_that_was_not_sent_raises(kind: Kind) -> None:
    with serving(script(EXPIRED)) as server, client_of(kind, server.base_url) as client:
        error = raised(partial(first_of, client, start="oldest"))
    assert isinstance(error, errors.InvalidRequestError)
    assert (error.status, error.reason, len(server.requests)) == (410, "cursor_expired", 1)


# Catches a reconnect with a revoked key for ever.
def test_permanent_failure_ends_the_iteration(kind: Kind) -> None:
    answers = script(stream(RETRY, block(1)), refusal(401, "unauthorized"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.events.follow()
        items = iter(events)
        assert names_of(items, 1) == ["e1"]
        assert isinstance(raised(lambda: next(items)), errors.UnauthorizedError)
        assert list(events) == []


# Catches an event that is delivered although no cursor can continue after the event.
def test_event_that_cannot_be_read_raises(kind: Kind) -> None:
    answers = [
        block(1).replace("id: c1\n", ""),
        "id: c1\nevent: drift_changed\ndata: {\n\n",
        'id: c1\nevent: drift_changed\ndata: {"id":"e1","type":"drift_changed"}\n\n',
    ]
    for answer in answers:
        with serving(script(stream(answer))) as server, client_of(kind, server.base_url) as client:
            events = client.events.follow()
            error = raised(partial(next, iter(events)))
            assert list(events) == []
        assert isinstance(error, errors.MalformedAnswerError)


def test_closed_stream_yields_no_more_items(kind: Kind) -> None:
    answers = script(stream(block(1), block(2), then="open"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        events = client.events.follow()
        assert names_of(iter(events), 1) == ["e1"]
        end(events)
        assert list(events) == []


# Catches an event that is lost with a cancelled wait.
def test_cancelled_wait_loses_no_item() -> None:
    answers = script(stream(RETRY, block(1), then="open"), stream(block(2), then="open"))

    async def main(base_url: str) -> list[str]:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url) as client:
            async with client.events.follow() as events:
                seen = [await events.__anext__()]
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(events.__anext__(), 0.1)
                return [name_of(item) for item in [*seen, await events.__anext__()]]

    with serving(answers) as server:
        assert asyncio.run(main(server.base_url)) == ["e1", "e2"]
    assert [request.headers.get("last-event-id") for request in server.requests] == [None, "c1"]


# Catches the use of a connection in an event loop that did not open the connection.
def test_stream_continues_in_another_event_loop() -> None:
    answers = script(stream(block(1), then="open"), stream(block(2), then="open"))
    with serving(answers) as server:
        client = AsyncIdentityEngine(api_key=KEY, base_url=server.base_url)
        events = client.events.follow()

        async def following() -> str:
            return name_of(await events.__anext__())

        assert [asyncio.run(following()) for _ in range(2)] == ["e1", "e2"]
    assert server.requests[1].headers["last-event-id"] == "c1"


def test_stream_sends_the_headers_of_a_view_and_reports_its_attempts(kind: Kind) -> None:
    seen: list[AttemptEvent] = []
    with serving(script(stream(block(1), then="open"))) as server:
        with client_of(kind, server.base_url, on_attempt=seen.append) as client:
            events = client.with_headers({"x-game": "a"}).events.follow(types="deleted")
            assert names_of(iter(events), 1) == ["e1"]
            end(events)
    assert [(each.path, each.status) for each in seen] == [("/events", 200)]
    [request] = server.requests
    assert (request.headers["x-game"], request.query) == ("a", {"types": "deleted"})


# Catches an iteration over pages that never ends, because every page has a cursor.
def test_pages_end_at_the_newest_event(kind: Kind) -> None:
    def page(number: int, has_more: bool) -> Reply:
        pagination = {"limit": 1, "has_more": has_more, "next_cursor": f"c{number}"}
        body = {"data": [event(number)], "pagination": pagination}
        return Reply(200, LIMITS, json.dumps(body).encode())

    with serving(script(page(1, True), page(2, False))) as server:
        with client_of(kind, server.base_url) as client:
            first = client.events.list(start="oldest", limit=1, types=["drift_changed"], wait=8)
            second = first.next()
    assert (first.has_next, second.has_next) == (True, False)
    assert second.pagination.next_cursor == "c2"
    same = {"limit": "1", "types": "drift_changed", "wait": "8"}
    assert [request.query for request in server.requests] == [
        {**same, "start": "oldest"},
        {**same, "cursor": "c1"},
    ]
