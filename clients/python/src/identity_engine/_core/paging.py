"""Query of the next page, for the pages of both clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from identity_engine.results import PageInfo


def query_of_next(
    query: Mapping[str, Any], pagination: PageInfo, count: int
) -> dict[str, Any] | None:
    """Returns the query for the page after a page with ``count`` entries; None at the end.

    With a cursor, concurrent changes neither hide nor repeat entries, and a page may be empty.
    Services before 1.1 support only offsets. A page of history or drift may be shorter than its
    limit and still have a next page (interface 4.2). Every page of events has a cursor, so only
    ``has_more`` tells whether a next page exists now.
    """
    if pagination.next_cursor is not None:
        if pagination.has_more is False:
            return None
        rest = {name: value for name, value in query.items() if name not in ("offset", "start")}
        return {**rest, "cursor": pagination.next_cursor}
    is_by_cursor = "next_cursor" in pagination.model_fields_set
    if is_by_cursor or pagination.has_more is not True or count == 0:
        return None
    return {**query, "offset": (pagination.offset or 0) + count}
