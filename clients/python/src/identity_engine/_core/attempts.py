"""The attempts of one call: the time limit of each, and the next step after its end."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from identity_engine._core.call import Call
from identity_engine._core.retry import WAIT_S_MIN, may_repeat, retry_after_of, wait_before
from identity_engine._core.settings import Bounds
from identity_engine.errors import ConnectionError, DeadlineError, IdentityEngineError


@dataclass(slots=True)
class Attempts:
    """State of one call between its attempts. Times are seconds of the monotonic clock."""

    call: Call
    bounds: Bounds
    began_s: float
    count: int = 0
    is_unclear: bool = False
    """Whether an attempt so far may have changed something."""
    is_late: bool = False
    """Whether another attempt would have followed, and its time was over."""
    last_error: IdentityEngineError | None = field(default=None)

    def begin(self, now_s: float) -> float:
        """Begins an attempt and gives the seconds that it may take.

        Raises ``DeadlineError`` when the time of the call is used up.
        """
        left_s = self._until_s - now_s
        if left_s <= 0:
            raise self.finished(self._noted(DeadlineError(self._late(), self.last_error)))
        self.count += 1
        return min(self.bounds.attempt_timeout_s, left_s)

    def cut(self, now_s: float, is_sent: bool) -> IdentityEngineError:
        """The error of an attempt that took too long, of ``is_sent`` bytes or none."""
        error: IdentityEngineError
        if now_s >= self._until_s:
            error = DeadlineError(self._late(), self.last_error)
        else:
            error = ConnectionError(f"no answer within {self.bounds.attempt_timeout_s:g} s")
        error.may_have_happened = is_sent
        return error

    def failed(self, error: IdentityEngineError, now_s: float) -> float | None:
        """Notes how an attempt failed; gives the seconds until the next one, None if there is
        none.
        """
        self._noted(error)
        max_ = self.bounds.attempts_max
        is_last = max_ is not None and self.count >= max_
        if is_last or not may_repeat(self.call.repeatable, error):
            return None
        self.last_error = error
        at_least_s = retry_after_of(error)
        if at_least_s >= self.bounds.timeout_s:
            # The answer says that no attempt of this call can succeed.
            return None
        left_s = self._until_s - now_s
        # A wait that would end too late is shortened, so that attempts go on until the deadline.
        wait_s = min(wait_before(self.count, error, random.random), max(at_least_s, left_s / 2))
        if wait_s >= left_s or left_s < WAIT_S_MIN:
            self.is_late = True
            return None
        return wait_s

    def _noted(self, error: IdentityEngineError) -> IdentityEngineError:
        """The error with what all attempts so far say of it. A read never leaves anything open."""
        if self.call.is_read:
            error.may_have_happened = False
        self.is_unclear = self.is_unclear or error.may_have_happened
        error.attempts = self.count
        return error

    def finished(self, error: IdentityEngineError) -> IdentityEngineError:
        """The error that the caller gets: after an unclear attempt no later one makes it clear."""
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
