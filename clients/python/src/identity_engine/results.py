"""Results of calls: data with limits, version, request id, throttling and pagination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal

import httpx
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """Request limit in the present minute, a fixed 60 s window."""

    limit: int | None
    """Requests per minute in the plan; 0 for an unknown caller."""
    remaining: int | None
    """Requests left after this request."""
    reset_at: datetime | None
    """Window end, in UTC."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Remaining account limits. Values missing in the answer are None."""

    requests: RequestLimit
    """Request limit of the minute."""
    monthly_remaining: int | None
    """Cycles left in the calendar month (UTC)."""


class Headers(Mapping[str, str]):
    """Headers of an answer. Names are case-insensitive, and lower-case in iterations."""

    __slots__ = ("_headers",)

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        self._headers = httpx.Headers(headers)

    def __getitem__(self, name: str) -> str:
        return self._headers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers.keys())

    def __len__(self) -> int:
        return len(self._headers.keys())

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"


@dataclass(frozen=True, slots=True)
class Throttled:
    """The observation came less than 1.000 s after the previous observation. Nothing was changed or
    billed.
    """

    retry_after_s: float
    """Seconds until an observation is accepted."""


@dataclass(frozen=True, slots=True)
class Result(Generic[T_co]):
    """A successful answer."""

    data: T_co
    """Answer data, with the API's field names."""
    status: int
    """HTTP status: 200; 201 for a create; 404 for a delete whose retry found no instance."""
    request_id: str | None
    """Request id in the service's log."""
    limits: Limits
    """Remaining account limits."""
    etag: str | None
    """Instance version, for ``if_match`` and ``if_none_match``."""
    is_replayed: bool
    """Whether this is the stored answer to an earlier call with the same idempotency key."""
    attempts: int
    """Requests sent, at least 1."""
    is_not_modified: Literal[False] = field(default=False, kw_only=True)
    """Always False. ``NotModified`` is the other result of a conditional read."""
    headers: Headers = field(default_factory=Headers, kw_only=True, repr=False, compare=False)
    """All headers of the answer."""


@dataclass(frozen=True, slots=True)
class Observed(Result[T_co]):
    """Answer to an observation or a batch."""

    throttled: Throttled | None = None
    """None if the observations were applied. Otherwise nothing changed, and ``data`` is the current
    state.
    """


@dataclass(frozen=True, slots=True)
class Requested(Result[T_co]):
    """Answer to ``client.request``. ``data`` is JSON, as the service sent it; None after a 204."""

    pagination: dict[str, Any] | None = None
    """Position in a list, as the service sent it; None for other answers."""


@dataclass(frozen=True, slots=True)
class NotModified:
    """Answer to a conditional read whose ``if_none_match`` is the current version."""

    status: int
    """HTTP status 304."""
    request_id: str | None
    """Request id in the service's log."""
    limits: Limits
    """Remaining account limits."""
    etag: str | None
    """Current version."""
    attempts: int
    """Requests sent, at least 1."""
    data: None = None
    """No data, because the caller's version is current."""
    is_replayed: Literal[False] = False
    """Always False: reads are never replayed."""
    is_not_modified: Literal[True] = True
    """Always True."""
    headers: Headers = field(default_factory=Headers, kw_only=True, repr=False, compare=False)
    """All headers of the answer."""


class PageInfo(BaseModel):
    """Position of a page in its list. Fields that a list does not have are None."""

    model_config = ConfigDict(extra="allow", frozen=True)

    limit: int | None = None
    """Maximum entries on the page."""
    offset: int | None = None
    """Number of entries before the page."""
    total: int | None = None
    """Number of entries in the list."""
    has_more: bool | None = None
    """Whether another page follows."""
    next_cursor: str | None = None
    """Start of the next page, for ``cursor``; None at the end."""
