"""Iterators over lists that change meanwhile."""

from __future__ import annotations

import json
from typing import Any

from both_clients import Kind, client_of
from wire_server import LIMITS, Reply, script, serving


def record(cycle: int) -> dict[str, Any]:
    return {
        "cycle": cycle,
        "mode_target": "ORDER",
        "signal_strength": 0.5,
        "confidence": 1,
        "context": {},
        "timestamp": "2026-01-15T12:00:00.000Z",
    }


def page(offset: int, *cycles: int, has_more: bool) -> Reply:
    pagination = {"limit": 2, "offset": offset, "total": 9, "has_more": has_more}
    body = {"data": [record(cycle) for cycle in cycles], "pagination": pagination}
    return Reply(200, LIMITS, json.dumps(body).encode())


def test_an_entry_that_was_moved_back_comes_once(kind: Kind) -> None:
    pages = (
        page(0, 4, 3, has_more=True),
        page(2, 4, 3, has_more=True),
        page(4, 2, 1, has_more=False),
    )
    with serving(script(*pages)) as server, client_of(kind, server.base_url) as client:
        agent = client.instance("inst_0123456789abcdef")
        assert [each.cycle for each in agent.iterate_history(limit=2)] == [4, 3, 2, 1]
    assert [each.query.get("offset") for each in server.requests] == [None, "2", "4"]
