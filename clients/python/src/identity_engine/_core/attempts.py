"""Attempts of one call: the time limit of each attempt, and the next step."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from identity_engine._core.call import Call
from identity_engine._core.retry import WAIT_S_MIN, may_repeat, retry_after_of, wait_before
from identity_engine._core.settings import Bounds
from identity_engine.errors import ConnectionError, DeadlineError, IdentityEngineError


@dataclass(slots=True)
class Attempts:
    """State of a call between attempts. Times are monotonic seconds."""

    call: Call
    bounds: Bounds
    began_s: float
    count: int = 0
    is_unclear: bool = False
    """Whether an earlier attempt may have changed something."""
    is_late: bool = False
    """Whether the deadline prevented another attempt."""
    last_error: IdentityEngineError | None = field(default=None)

    def begin(self, now_s: float) -> float:
        """Begins an attempt and returns its time limit in seconds.

        Raises ``DeadlineError`` after the deadline.
        """
        left_s = self._until_s - now_s
        if left_s <= 0:
            raise self.finished(self._noted(DeadlineError(self._late(), self.last_error)))
        self.count += 1
        return min(self.bounds.attempt_timeout_s, left_s)

    def cut(self, now_s: float, is_sent: bool) -> IdentityEngineError:
        """Returns the error for a timed-out attempt. ``is_sent``: bytes may have been sent."""
        error: IdentityEngineError
        if now_s >= self._until_s:
            error = DeadlineError(self._late(), self.last_error)
        else:
            error = ConnectionError(f"no answer within {self.bounds.attempt_timeout_s:g} s")
        error.may_have_happened = is_sent
        return error

    def failed(self, error: IdentityEngineError, now_s: float) -> float | None:
        """Records a failed attempt. Returns the seconds until the next attempt, or None."""
        self._noted(error)
        max_ = self.bounds.attempts_max
        is_last = max_ is not None and self.count >= max_
        if is_last or not may_repeat(self.call.repeatable, error):
            return None
        self.last_error = error
        at_least_s = retry_after_of(error)
        if at_least_s >= self.bounds.timeout_s:
            # The answer shows that no attempt of this call can succeed.
            return None
        left_s = self._until_s - now_s
        # Shorten a wait that would end too late, so that attempts continue until the deadline.
        wait_s = min(wait_before(self.count, error, random.random), max(at_least_s, left_s / 2))
        if wait_s >= left_s or left_s < WAIT_S_MIN:
            self.is_late = True
            return None
        return wait_s

    def _noted(self, error: IdentityEngineError) -> IdentityEngineError:
        """Updates an error and this state for a failed attempt. A read has no unknown outcome."""
        if self.call.is_read:
            error.may_have_happened = False
        self.is_unclear = self.is_unclear or error.may_have_happened
        error.attempts = self.count
        return error

    def finished(self, error: IdentityEngineError) -> IdentityEngineError:
        """Returns the error for the caller. After an attempt with unknown outcome, the outcome
        stays unknown.
        """
        if self.is_late:
            error = DeadlineError(self._late(), self.last_error)
            error.attempts = self.count
        error.may_have_happened = self.is_unclear
        return error

    def _late(self) -> str:
        last = "" if self.last_error is None else f"; last error: {self.last_error}"
        text = f"deadline of {self.bounds.timeout_s:g} s exceeded"
        return f"{text}, attempts: {self.count}{last}"

    @property
    def _until_s(self) -> float:
        return self.began_s + self.bounds.timeout_s
