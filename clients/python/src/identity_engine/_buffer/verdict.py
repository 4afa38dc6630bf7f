"""What follows for a batch from how sending it ended. A function of the outcome alone."""

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
"""Reasons of refusals that follow from the body alone (interface 7.1): the same body was refused in
every attempt, so none of them was applied.
"""


class Verdict(Enum):
    """What is done with a batch that was not acknowledged."""

    AGAIN = "again"
    """It is sent again with the same key: it may count already, or surely will later."""
    SPACE_AGAIN = "space again"
    """It surely does not count and comes too early, or too far ahead: new times, a new key."""
    REJECT_ITEM = "reject item"
    """One observation is wrong, and nothing was applied: the others are sent with a new key."""
    REJECT_BATCH = "reject batch"
    """None of it can ever be sent."""
    REJECT_INSTANCE = "reject instance"
    """Nothing of this instance can ever be sent."""
    HALVE = "halve"
    """It was refused without saying for which one, or is too large: it goes as two, new keys."""
    HAND_BACK = "hand back"
    """Sending it again cannot show whether it counts: nothing more of the instance is sent."""
    STOP = "stop"
    """Nothing of any instance can be sent with this key."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and which item it is about."""

    verdict: Verdict
    index: int | None = None
    retry_after_s: float | None = None


def judge(error: IdentityEngineError, size: int, is_unclear: bool) -> Judged:
    """The verdict about a batch of ``size`` observations whose sending ended with an error.

    ``is_unclear``: an attempt, this one or an earlier one, may have been applied. Such a batch is
    rejected or split only for what is in its body, which the attempts before had too.
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
        # A service of 1.0 has no keys of observations.
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
