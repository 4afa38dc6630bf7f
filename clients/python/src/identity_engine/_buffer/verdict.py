"""Decides how a batch continues after an error. Pure functions of the outcome."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from identity_engine.errors import (
    ApiError,
    ConnectionError,
    DeadlineError,
    ForbiddenError,
    IdentityEngineError,
    InvalidRequestError,
    MalformedAnswerError,
    NotFoundError,
    UnauthorizedError,
)

_ITEM = re.compile(r"^observations\[(\d+)\]")

_OF_THE_BODY = frozenset(
    {
        *("malformed_json", "body_too_large", "missing_field", "unknown_field", "wrong_type"),
        *("out_of_range", "unknown_value", "too_short", "too_long", "too_deep"),
        *("invalid_text", "invalid_timestamp", "timestamps_mixed"),
    }
)
"""Refusal reasons that depend only on the body (interface 7.1).

Earlier attempts had the same body, so the service applied none of them.
"""


class Verdict(Enum):
    """Next step for a batch that was not acknowledged."""

    AGAIN = "again"
    """Retry with the same key: the batch may have been applied, or the failure is temporary."""
    SPACE_AGAIN = "space again"
    """Send with new timestamps and a new key: the batch had no effect and was too early or too far
    ahead.
    """
    REJECT_ITEM = "reject item"
    """Reject one invalid observation, and send the others with a new key: nothing was applied."""
    REJECT_BATCH = "reject batch"
    """Reject the batch: the service can never accept it."""
    REJECT_INSTANCE = "reject instance"
    """Reject all observations of this instance: the account has no such instance."""
    HALVE = "halve"
    """Send as two batches with new keys: the refusal named no observation, or the batch is too
    large.
    """
    HAND_BACK = "hand back"
    """Hand the batch back and send no further observations of the instance.

    A retry cannot reveal whether the batch was applied.
    """
    STOP = "stop"
    """Stop the buffer: no batch can succeed, for example because the API key is invalid."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, with the index of the rejected item and the time to wait, if any."""

    verdict: Verdict
    index: int | None = None
    retry_after_s: float | None = None


def judge(error: IdentityEngineError, size: int, is_unclear: bool) -> Judged:
    """Returns the verdict on a batch of ``size`` observations after an error.

    ``is_unclear``: this or an earlier attempt may have been applied. Such a batch is rejected or
    split only if the reason is in the body, because all attempts have the same body.
    """
    if isinstance(error, (ConnectionError, DeadlineError)):
        return Judged(Verdict.AGAIN)
    if isinstance(error, MalformedAnswerError):
        return Judged(Verdict.AGAIN, retry_after_s=error.retry_after_s)
    if isinstance(error, (UnauthorizedError, ForbiddenError)):
        return Judged(Verdict.STOP)
    if not isinstance(error, ApiError):
        return Judged(Verdict.STOP)
    if error.status in (408, 429) or error.status >= 500 or error.status < 400:
        return Judged(Verdict.AGAIN, retry_after_s=error.retry_after_s)
    if error.reason == "timestamp_in_future":
        return Judged(Verdict.SPACE_AGAIN)
    if error.reason == "unknown_field" and (error.field or "").endswith(".idempotency_key"):
        # Service 1.0 does not support keys of observations.
        return Judged(Verdict.STOP)
    if error.reason == "idempotency_key_reused":
        found = _ITEM.match(error.field or "")
        if found is not None and int(found.group(1)) < size:
            return Judged(Verdict.REJECT_ITEM, index=int(found.group(1)))
        return Judged(Verdict.HAND_BACK)
    if is_unclear and error.reason not in _OF_THE_BODY:
        return Judged(Verdict.HAND_BACK)
    if isinstance(error, NotFoundError):
        return Judged(Verdict.REJECT_INSTANCE)
    return _judge_refusal(error, size)


def _judge_refusal(error: ApiError, size: int) -> Judged:
    found = _ITEM.match(error.field or "")
    index = int(found.group(1)) if found is not None else None
    if index is not None and index < size:
        return Judged(Verdict.REJECT_ITEM, index=index)
    if isinstance(error, InvalidRequestError) and size > 1:
        return Judged(Verdict.HALVE)
    return Judged(Verdict.REJECT_BATCH)
