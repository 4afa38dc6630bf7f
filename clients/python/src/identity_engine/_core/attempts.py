"""The attempts of one call: what each may take, and what follows from how it ended."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from identity_engine._core.call import Call
from identity_engine._core.retry import may_repeat, wait_before
from identity_engine._core.settings import Settings
from identity_engine.errors import ConnectionError, DeadlineError, IdentityEngineError


@dataclass(slots=True)
class Attempts:
    """What is known of one call so far. Times are seconds of the monotonic clock."""

    call: Call
    settings: Settings
    began_s: float
    timeout_s: float
    count: int = 0
    is_unclear: bool = False
    """Whether an attempt so far may have changed something."""
    last_error: IdentityEngineError | None = field(default=None)

    def begin(self, now_s: float) -> float:
        """Begins an attempt and gives the seconds that it may take.

        Raises ``DeadlineError`` when the time of the call is used up.
        """
        left_s = self.began_s + self.timeout_s - now_s
        if left_s <= 0:
            raise self.finished(self._noted(DeadlineError(self._late(), self.last_error)))
        self.count += 1
        return min(self.settings.attempt_timeout_s, left_s)

    def cut(self, now_s: float, is_sent: bool) -> IdentityEngineError:
        """The error of an attempt that took too long, of ``is_sent`` bytes or none."""
        error: IdentityEngineError
        if now_s >= self.began_s + self.timeout_s:
            error = DeadlineError(self._late(), self.last_error)
        else:
            error = ConnectionError(f"no answer within {self.settings.attempt_timeout_s:g} s")
        error.may_have_happened = is_sent
        return error

    def failed(self, error: IdentityEngineError, now_s: float) -> float | None:
        """Notes how an attempt failed; gives the seconds until the next one, None if there is
        none.
        """
        self._noted(error)
        if self.count >= self.settings.attempts_max or not may_repeat(self.call.repeatable, error):
            return None
        wait_s = wait_before(self.count, error, random.random)
        if now_s + wait_s >= self.began_s + self.timeout_s:
            return None
        self.last_error = error
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
        error.may_have_happened = self.is_unclear
        return error

    def _late(self) -> str:
        return f"the call did not end within {self.timeout_s:g} s"
