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
_TOO_LARGE = 413


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
    """It is too large for one body."""
    STOP = "stop"
    """Nothing of any instance can be sent with this key."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and which item it is about."""

    verdict: Verdict
    index: int | None = None
    retry_after_s: float | None = None


def judge(error: IdentityEngineError, size: int) -> Judged:
    """The verdict about a batch of ``size`` observations whose sending ended with an error."""
    if isinstance(error, (ConnectionError, DeadlineError)):
        return Judged(Verdict.AGAIN)
    if isinstance(error, (UnauthorizedError, ForbiddenError)):
        return Judged(Verdict.STOP)
    if isinstance(error, NotFoundError):
        return Judged(Verdict.REJECT_INSTANCE)
    if isinstance(error, InvalidRequestError) and error.status != 408:
        return _judge_invalid(error, size)
    if isinstance(error, (ApiError, MalformedAnswerError)):
        may_pass = error.status in (408, 429) or error.status >= 500 or error.status < 400
        verdict = Verdict.AGAIN if may_pass else Verdict.REJECT_BATCH
        return Judged(verdict, retry_after_s=error.retry_after_s)
    return Judged(Verdict.STOP)


def _judge_invalid(error: InvalidRequestError, size: int) -> Judged:
    if error.status == _TOO_LARGE and size > 1:
        return Judged(Verdict.HALVE)
    found = _ITEM.match(error.field or "")
    index = int(found.group(1)) if found is not None else None
    if error.reason == "timestamp_in_future":
        return Judged(Verdict.SPACE_AGAIN, retry_after_s=None)
    if index is not None and index < size:
        return Judged(Verdict.REJECT_ITEM, index=index)
    return Judged(Verdict.REJECT_BATCH)
