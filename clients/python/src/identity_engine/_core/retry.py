"""When a call is sent again, and after how long: functions of evidence, without a clock."""

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
"""The bound of the first wait, in seconds; each further one is twice as large."""

WAIT_S_MAX = 5.0
"""The largest bound, in seconds."""

_TRANSIENT = frozenset({408, 500, 502, 503, 504})


def may_repeat(repeatable: Repeatable, error: IdentityEngineError) -> bool:
    """Whether a call whose attempt ended with ``error`` may be sent again.

    Never again goes what the service refused for good, ``quota_exceeded`` and ``throttled``.
    """
    if not _is_transient(error):
        return False
    return repeatable is not Repeatable.UNCHANGED or not error.may_have_happened


def wait_before(attempt: int, error: IdentityEngineError, random: Callable[[], float]) -> float:
    """Seconds before attempt ``attempt + 1``: full jitter, and never less than ``Retry-After``.

    ``random`` gives a number from 0 up to 1.
    """
    bound = min(WAIT_S_MAX, WAIT_S_MIN * 2.0 ** min(attempt - 1, 16))
    return max(random() * bound, retry_after_of(error))


def _is_transient(error: IdentityEngineError) -> bool:
    if isinstance(error, ConnectionError):
        return True
    if isinstance(error, RateLimitedError):
        return True
    if isinstance(error, (ApiError, MalformedAnswerError)):
        is_known_for_good = isinstance(error, ApiError) and error.code.startswith("billing_")
        return error.status in _TRANSIENT and not is_known_for_good
    return False


def retry_after_of(error: IdentityEngineError) -> float:
    """Seconds that an answer asked to wait; 0 where it did not."""
    if isinstance(error, (ApiError, MalformedAnswerError)):
        return error.retry_after_s or 0.0
    return 0.0
