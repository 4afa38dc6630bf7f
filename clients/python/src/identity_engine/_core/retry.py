"""Retry policy as pure functions: which failures are retried, and after which delay."""

from __future__ import annotations

from collections.abc import Callable

from identity_engine._core.call import Repeatable
from identity_engine.errors import (
    ApiError,
    ConnectionError,
    IdentityEngineError,
    MalformedAnswerError,
    RateLimitedError,
)

WAIT_S_MIN = 0.1
"""Maximum delay after the first attempt, in seconds. The maximum doubles with each attempt."""

WAIT_S_MAX = 5.0
"""Limit at which the maximum delay stops doubling, in seconds."""

_TRANSIENT = frozenset({408, 500, 502, 503, 504})


def may_repeat(repeatable: Repeatable, error: IdentityEngineError) -> bool:
    """Whether a call may be retried after ``error``.

    Permanent refusals, ``quota_exceeded`` and ``throttled`` are never retried.
    """
    if not _is_transient(error):
        return False
    return repeatable is not Repeatable.UNCHANGED or not error.may_have_happened


def wait_before(attempt: int, error: IdentityEngineError, random: Callable[[], float]) -> float:
    """Delay after attempt ``attempt``, which failed with ``error``, in seconds."""
    return wait_s_after(attempt, retry_after_of(error), random)


def wait_s_after(attempt: int, retry_after_s: float, random: Callable[[], float]) -> float:
    """Delay after attempt ``attempt``, in seconds: full jitter, at least ``retry_after_s``.

    ``random`` returns a number in [0, 1).
    """
    bound = min(WAIT_S_MAX, WAIT_S_MIN * 2.0 ** min(attempt - 1, 16))
    return max(random() * bound, retry_after_s)


def wait_after_stream(least_s: float, random: Callable[[], float], failures: int = 1) -> float:
    """Delay before a stream reconnects, in seconds: ``least_s`` plus full jitter.

    ``random`` returns a number in [0, 1). Jitter prevents synchronized reconnects.
    """
    return least_s + wait_s_after(failures, 0.0, random)


def _is_transient(error: IdentityEngineError) -> bool:
    if isinstance(error, ConnectionError):
        return True
    if isinstance(error, RateLimitedError):
        return True
    if isinstance(error, (ApiError, MalformedAnswerError)):
        is_permanent = isinstance(error, ApiError) and error.code.startswith("billing_")
        return error.status in _TRANSIENT and not is_permanent
    return False


def retry_after_of(error: IdentityEngineError) -> float:
    """Delay that the answer requested, in seconds; 0 if the answer requested none."""
    if isinstance(error, (ApiError, MalformedAnswerError)):
        return error.retry_after_s or 0.0
    return 0.0
