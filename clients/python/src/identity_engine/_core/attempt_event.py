"""Event for the attempt hook of a client."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AttemptEvent:
    """A finished attempt of a call. Contains neither the API key nor bodies."""

    method: str
    """HTTP method."""
    path: str
    """Path below the base address, without the query."""
    attempt: int
    """Attempt number within its call, from 1."""
    status: int | None
    """HTTP status; None without an answer."""
    duration_s: float
    """Attempt duration, in seconds."""
    request_id: str | None
    """Request id in the service's log; None without an answer."""
    retry_in_s: float | None
    """Seconds until the next attempt; None for the last attempt."""
    error: Exception | None
    """Error of the attempt; None after a success."""
