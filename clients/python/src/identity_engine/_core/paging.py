"""Where the next page of a list begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from identity_engine.results import PageInfo


def query_of_next(
    query: Mapping[str, Any], pagination: PageInfo, count: int
) -> dict[str, Any] | None:
    """The query of the page behind one of ``count`` entries; None at the end of the list.

    A page of history or drift may be shorter than its limit with more behind it (interface 4.2). A
    page of the audit trail may be empty with a cursor.
    """
    if pagination.next_cursor is not None:
        return {**query, "cursor": pagination.next_cursor}
    if pagination.has_more is not True or count == 0:
        return None
    return {**query, "offset": (pagination.offset or 0) + count}
