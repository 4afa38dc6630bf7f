"""What the logging hook of a client receives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AttemptEvent:
    """One attempt of a call has ended. Neither the key nor a body is in it."""

    method: str
    """The HTTP method."""
    path: str
    """The path below the base address, without the query."""
    attempt: int
    """1 for the first attempt of the call."""
    status: int | None
    """The HTTP status; None where there was no answer."""
    duration_s: float
    """How long the attempt took, in seconds."""
    request_id: str | None
    """The id under which the service logged the request, where it answered."""
    retry_in_s: float | None
    """In how many seconds the next attempt begins; None: this was the last one."""
    error: Exception | None
    """What the attempt ended with; None for a success."""
