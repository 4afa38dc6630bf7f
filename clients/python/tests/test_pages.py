"""Iterators over lists with concurrent changes."""

from __future__ import annotations

import json
from typing import Any

from both_clients import Kind, client_of
from test_attempts import UPDATED
from wire_server import LIMITS, Reply, Request, data, script, serving


def record(cycle: int) -> dict[str, Any]:
    return {
        "cycle": cycle,
        "mode_target": "ORDER",
        "signal_strength": 0.5,
        "confidence": 1,
        "context": {},
        "timestamp": "2026-01-15T12:00:00.000Z",
    }


def row(id: str) -> dict[str, Any]:
    """An instance in a list."""
    return {
        "id": id,
        "name": id,
        "description": "",
        "created_at": "2026-01-15T12:00:00.000Z",
        "updated_at": "2026-01-15T12:00:00.000Z",
        "cycle_count": 0,
        "energy_level": 0.8,
        "stress_state": "LOW",
    }


def page(offset: int, *cycles: int, has_more: bool) -> Reply:
    pagination = {"limit": 2, "offset": offset, "total": 9, "has_more": has_more}
    body = {"data": [record(cycle) for cycle in cycles], "pagination": pagination}
    return Reply(200, LIMITS, json.dumps(body).encode())


def test_moved_entry_is_yielded_once(kind: Kind) -> None:
    pages = (
        page(0, 4, 3, has_more=True),
        page(2, 4, 3, has_more=True),
        page(4, 2, 1, has_more=False),
    )
    with serving(script(*pages)) as server, client_of(kind, server.base_url) as client:
        agent = client.instance("inst_0123456789abcdef")
        assert [each.cycle for each in agent.iterate_history(limit=2)] == [4, 3, 2, 1]
    assert [each.query.get("offset") for each in server.requests] == [None, "2", "4"]


# Report 5: an iterator skipped or repeated rows that moved during the iteration.
def test_iteration_follows_the_cursors_of_the_pages(kind: Kind) -> None:
    def page(ids: list[str], cursor: str | None) -> Reply:
        pagination = {"limit": 2, "offset": 3, "total": 9, "has_more": cursor is not None}
        body = {"data": [row(id) for id in ids], "pagination": pagination | {"next_cursor": cursor}}
        return Reply(200, LIMITS, json.dumps(body).encode())

    answers = script(page(["a", "b"], "c 1"), page([], "c2"), page(["c"], None))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        rows = client.instances.iterate(limit=2, offset=3, search="x")
        assert [each.id for each in rows] == ["a", "b", "c"]
    assert [request.query for request in server.requests] == [
        {"limit": "2", "offset": "3", "search": "x"},
        {"limit": "2", "search": "x", "cursor": "c 1"},
        {"limit": "2", "search": "x", "cursor": "c2"},
    ]


def test_lists_accept_a_cursor(kind: Kind) -> None:
    empty = Reply(200, LIMITS, b'{"data":[],"pagination":{"next_cursor":null,"has_more":true}}')
    with serving(script(empty)) as server, client_of(kind, server.base_url) as client:
        agent = client.instance("inst_0123456789abcdef")
        for call in (client.instances.list, agent.history, agent.drift):
            assert not call(cursor="x").has_next
        for call in (client.instances.iterate, agent.iterate_history, agent.iterate_drift):
            assert list(call(cursor="x")) == []
    assert [request.query["cursor"] for request in server.requests] == ["x"] * 6


RECORD = {
    "cycle": 3,
    "mode_target": "ORDER",
    "signal_strength": 0.5,
    "confidence": 1,
    "timestamp": "2026-01-15T12:00:00.000Z",
    "generation": 1,
}


# Report 4: a history or stream with a stored lone surrogate could not be read.
def test_stored_lone_surrogates_are_readable(kind: Kind) -> None:
    contexts = [{"a": "x\ud800"}, {"b": [{"c": "\udfff", "\ud800": 1}]}, {"\ud800": 1}]
    rows = [{**RECORD, "cycle": 3 - n, "context": each} for n, each in enumerate(contexts)]
    body = {"data": rows, "pagination": {"has_more": False, "next_cursor": None}}
    cycle = json.dumps({"observation": rows[0], "drift": None})
    events = f"id: 3\nevent: cycle\ndata: {cycle}\n\nevent: deleted\ndata: {{}}\n\n"

    def answer(request: Request) -> Reply:
        if request.path.endswith("events"):
            headers = {"Content-Type": "text/event-stream"}
            return Reply(200, headers, chunks=(events.encode(),))
        return Reply(200, LIMITS, json.dumps(body).encode())

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        agent = client.instance("inst_0123456789abcdef")
        assert [each.cycle for each in agent.iterate_history()] == [3, 2, 1]
        first = next(iter(agent.events(after=0)))
    assert first.data.observation.context == contexts[0]


# Report 4: an instance whose name had a lone surrogate could not be read.
def test_stored_name_with_a_lone_surrogate_is_readable(kind: Kind) -> None:
    with serving(script(data({**UPDATED, "name": "x\ud800"}))) as server:
        with client_of(kind, server.base_url) as client:
            assert client.instances.update("a", description="").data.name == "x\ud800"
