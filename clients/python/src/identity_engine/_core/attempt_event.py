"""Event for the attempt hook of a client."""

from __future__ import annotations

from dataclasses import dataclass

from identity_engine.errors import ApiError


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

    def __str__(self) -> str:
        """Log line, without query, headers and bodies."""
        outcome = self.status if self.error is None else _text(self.error)
        line = f"{self.method} {self.path}, attempt {self.attempt}: {outcome}"
        line += f", after {self.duration_s * 1_000:.0f} ms"
        if self.request_id is not None:
            line += f", request {self.request_id}"
        if self.retry_in_s is not None:
            line += f", retry in {self.retry_in_s * 1_000:.0f} ms"
        return line


def _text(error: Exception) -> str:
    """Text of an error. Leaves out the service's message, which may quote a value of the body."""
    if not isinstance(error, ApiError):
        return f"{type(error).__name__}: {error}"
    reason = "" if error.reason is None else f" {error.reason}"
    return f"{error.status} {error.code}{reason}"
