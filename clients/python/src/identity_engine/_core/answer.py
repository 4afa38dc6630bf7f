"""Answers of the service: facts from headers, and refusals as errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from identity_engine.errors import (
    ERROR_CLASSES,
    ApiError,
    IdentityEngineError,
    MalformedAnswerError,
)
from identity_engine.results import Limits, RequestLimit

_LEAVE_IT_OPEN = frozenset({"deadline_exceeded", "outcome_unknown", "engine_unavailable"})
"""Reasons of a 503 answer after which the call may have been applied (interface 7.5)."""


DIGITS_MAX = 15
"""Maximum digits in a header number."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer with its body."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    attempts: int = 1
    began_s: float = 0.0
    """Call start, in monotonic seconds."""
    is_read: bool = False
    """Whether the call is read-only."""

    is_stream: bool = False
    """Whether the call opens an event stream."""
    is_conditional: bool = False
    """Whether the call is a conditional read."""

    @property
    def request_id(self) -> str | None:
        """Request id in the service's log."""
        return self.headers.get("x-request-id")

    @property
    def limits(self) -> Limits:
        """Remaining account limits."""
        return limits_of(self.headers)

    @property
    def is_success(self) -> bool:
        """Whether the service answered with success: with data, or with "not modified"."""
        is_good = 200 <= self.status < 300 or self.status == 304
        return is_good and self.request_id is not None


def limits_of(headers: Mapping[str, str]) -> Limits:
    """Reads the limits from headers (interface 8.2)."""
    reset = _whole(headers.get("x-ratelimit-reset"))
    return Limits(
        requests=RequestLimit(
            limit=_whole(headers.get("x-ratelimit-limit")),
            remaining=_whole(headers.get("x-ratelimit-remaining")),
            reset_at=None if reset is None else _time(reset),
        ),
        monthly_remaining=_whole(headers.get("x-monthly-remaining")),
    )


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Reads ``Retry-After`` in seconds. The service and its proxies never send a date."""
    value = _whole(headers.get("retry-after"))
    return None if value is None else float(value)


def refusal_of(answer: Answer) -> IdentityEngineError:
    """Returns the error for a refusal or an unknown answer.

    All answers of the service have an X-Request-Id. For a stream, the envelope suffices, because
    opening a stream changes nothing.
    """
    if answer.request_id is None and not answer.is_stream:
        return malformed(answer, "the header X-Request-Id is missing")
    body = _envelope(answer.content)
    if body is None:
        return malformed(answer, "the body is not a JSON refusal")
    details = body.get("details")
    code = str(body["error"])
    retry_after_s = retry_after_of(answer.headers)
    if retry_after_s is None and isinstance(body.get("retry_after"), (int, float)):
        retry_after_s = float(body["retry_after"])
    error = ERROR_CLASSES.get(code, ApiError)(
        code=code,
        message=str(body.get("message", "")),
        status=answer.status,
        request_id=answer.request_id,
        limits=answer.limits,
        headers=answer.headers,
        details=details if isinstance(details, dict) else None,
        retry_after_s=retry_after_s,
    )
    error.may_have_happened = leaves_open(answer.status, error.reason)
    return error


def malformed(answer: Answer, why: str) -> MalformedAnswerError:
    """Returns the error for an unusable answer, after which the outcome is unknown."""
    error = MalformedAnswerError(
        f"answer {answer.status} is not a valid answer of the service: {why}",
        status=answer.status,
        request_id=answer.request_id,
        retry_after_s=retry_after_of(answer.headers),
    )
    error.may_have_happened = not answer.is_read
    error.attempts = answer.attempts
    return error


def leaves_open(status: int, reason: str | None) -> bool:
    """Whether the call may have changed something despite this answer (interface 7.5)."""
    if status == 503:
        return reason is None or reason in _LEAVE_IT_OPEN
    return status >= 500


def _envelope(content: bytes) -> dict[str, Any] | None:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and isinstance(body.get("error"), str) else None


def _time(seconds: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None


def _whole(text: str | None) -> int | None:
    """Parses an integer in a header; None for other text, which proxies may write."""
    if text is None or len(text) > DIGITS_MAX or not text.isascii() or not text.isdigit():
        return None
    return int(text)
