"""Calls of ``client.request``, to any path below the base address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from identity_engine._core.call import Call, Repeatable, headers_of, json_of, query_of
from identity_engine.errors import ConfigurationError

RequestMethod = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
"""Method of ``client.request``."""

METHODS: tuple[str, ...] = get_args(RequestMethod)

_PATH = re.compile(r"(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)+")
"""A path of encoded, non-empty segments: no query, fragment, backslash, space or other control."""

_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
"""A segment that a server may remove together with the segment before, also if encoded."""


def raw(
    method: str,
    path: str,
    *,
    query: Mapping[str, object] | None,
    body: object,
    idempotency_key: str | None,
    if_match: str | None,
    if_none_match: str | None,
    request_id: str | None,
) -> Call:
    """Makes a call to any path.

    A GET is always retried. Another method is retried always with a key, and otherwise only if the
    attempt certainly changed nothing.
    """
    if method not in METHODS:
        raise ConfigurationError(f"method must be one of {', '.join(METHODS)}, not {method!a}")
    is_read = method == "GET"
    if is_read and body is not None:
        raise ConfigurationError("a GET request has no body")
    is_safe = is_read or idempotency_key is not None
    headers = {
        "Content-Type": None if body is None else "application/json",
        "X-Request-Id": request_id,
        "Idempotency-Key": idempotency_key,
        "If-Match": if_match,
        "If-None-Match": if_none_match,
    }
    return Call(
        method,
        _checked(path),
        Repeatable.ALWAYS if is_safe else Repeatable.UNCHANGED,
        query=query_of(query or {}),
        headers=headers_of(headers),
        content=None if body is None else json_of(body),
        is_read=is_read,
    )


def _checked(path: str) -> str:
    """Raises ``ConfigurationError`` for a path that is invalid, or that would leave the base
    address with the API key.
    """
    if re.match(r"/v1(/|$)", path):
        raise ConfigurationError(f"the path is relative to /v1; leave out /v1: {path!a}")
    if not _PATH.fullmatch(path) or _DOT_SEGMENT.search(path):
        raise ConfigurationError(
            "the path must be like /instances/inst_…, with encoded segments and without a query, "
            f"not {path!a}"
        )
    return path
