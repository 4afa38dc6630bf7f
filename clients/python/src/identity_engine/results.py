"""What calls answer beside their data: limits, version, request id, throttling, pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """The requests of the present minute, a fixed window of 60 s."""

    limit: int | None
    """Requests a minute that the plan allows; 0 where the caller is not known."""
    remaining: int | None
    """Requests that are left of them after this one."""
    reset_at: datetime | None
    """When the window ends, in UTC."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the account may still do. A figure is None where the answer did not say it."""

    requests: RequestLimit
    """Requests of the minute."""
    monthly_remaining: int | None
    """Cycles that are left of the calendar month in UTC."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """The observation came less than 1.000 s after the previous one: nothing changed, nothing is
    billed.
    """

    retry_after_s: float
    """How long to wait until an observation is taken, in seconds."""


@dataclass(frozen=True, slots=True)
class Result(Generic[T_co]):
    """A successful answer."""

    data: T_co
    """The answer itself; its fields have the names of the API."""
    status: int
    """The HTTP status: 200, 201 of a create."""
    request_id: str | None
    """The id under which the service logged the request."""
    limits: Limits
    """What is left of the minute and the month."""
    etag: str | None
    """The version of the instance, for ``if_match`` and ``if_none_match``."""
    is_replayed: bool
    """Whether this is the stored answer to an earlier call with the same idempotency key."""
    attempts: int
    """How often the request was sent, at least 1."""
    is_not_modified: Literal[False] = field(default=False, kw_only=True)
    """False: there is data. ``NotModified`` is the other case of a conditional read."""


@dataclass(frozen=True, slots=True)
class Observed(Result[T_co]):
    """The answer to observations."""

    throttled: Throttled | None = None
    """None: the observations counted. Otherwise nothing changed and ``data`` is the state
    before.
    """


@dataclass(frozen=True, slots=True)
class NotModified:
    """The answer to a conditional read whose ``if_none_match`` is still the present version."""

    status: int
    """304."""
    request_id: str | None
    """The id under which the service logged the request."""
    limits: Limits
    """What is left of the minute and the month."""
    etag: str | None
    """The present version."""
    attempts: int
    """How often the request was sent, at least 1."""
    data: None = None
    """Nothing: what the caller has is current."""
    is_replayed: Literal[False] = False
    """False: reads are never replayed."""
    is_not_modified: Literal[True] = True
    """True: there is no data."""


class PageInfo(BaseModel):
    """Where a page lies in its list. What a kind of list does not have is None."""

    model_config = ConfigDict(extra="allow", frozen=True)

    limit: int | None = None
    """How many entries the page has at most."""
    offset: int | None = None
    """How many entries are before it."""
    total: int | None = None
    """How many entries the list has."""
    has_more: bool | None = None
    """Whether there are entries behind it."""
    next_cursor: str | None = None
    """Where the next page begins, for ``cursor``; None at the end."""
