"""Sends calls, with retries and deadlines."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace

import httpx
from typing_extensions import Self

from identity_engine._core.answer import Answer, refusal_of
from identity_engine._core.attempt_event import AttemptEvent
from identity_engine._core.attempt_log import LOGGER
from identity_engine._core.attempts import Attempts
from identity_engine._core.call import Call
from identity_engine._core.settings import Settings
from identity_engine._core.sync_io import sleep
from identity_engine._core.transport_errors import is_sent, own_error_of
from identity_engine._sync.connections import GRACE_S, Connections
from identity_engine.errors import ApiError, IdentityEngineError, MalformedAnswerError


class Caller:
    """Sends the calls of one client, with the client's extra headers."""

    def __init__(
        self, settings: Settings, connections: Connections, headers: Mapping[str, str]
    ) -> None:
        self.settings = settings
        self.connections = connections
        self.headers = headers

    def with_headers(self, headers: Mapping[str, str]) -> Self:
        """Returns a caller with more extra headers, which shares the connections."""
        return type(self)(self.settings, self.connections, {**self.headers, **headers})

    def send(
        self, call: Call, timeout_s: float | None = None, attempts_max: int | None = None
    ) -> Answer:
        """Sends a call, with retries, and returns the answer.

        Raises ``DeadlineError`` after the deadline, and the error of the last attempt if a retry
        cannot help or is not allowed.
        """
        bounds = self.settings.bounds_of(timeout_s, attempts_max)
        if self.headers:
            call = replace(call, headers={**self.headers, **call.headers})
        attempts = Attempts(call, bounds, time.monotonic())
        while True:
            may_take_s = attempts.begin(time.monotonic())
            attempt_began_s = time.monotonic()
            answer, error = self._attempt(attempts, may_take_s)
            now_s = time.monotonic()
            retry_in_s = None if error is None else attempts.failed(error, now_s)
            facts = (answer, error, retry_in_s)
            self.note(call, attempts.count, now_s - attempt_began_s, *facts)
            if error is None:
                assert answer is not None, "an attempt without an error has an answer"
                return answer
            if retry_in_s is None:
                raise attempts.finished(error)
            sleep(retry_in_s)

    def _attempt(
        self, attempts: Attempts, may_take_s: float
    ) -> tuple[Answer | None, IdentityEngineError | None]:
        try:
            response = self.connections.exchange(attempts.call, may_take_s)
        except httpx.TimeoutException as error:
            return None, attempts.cut(time.monotonic() + GRACE_S, is_sent(error))
        except TimeoutError:
            return None, attempts.cut(time.monotonic(), is_sent=True)
        except Exception as error:
            return None, own_error_of(error)
        answer = Answer(
            response.status_code,
            response.headers,
            response.content,
            attempts=attempts.count,
            began_s=attempts.began_s,
            is_read=attempts.call.is_read,
            is_conditional="If-None-Match" in attempts.call.headers,
        )
        return (answer, None) if answer.is_success else (answer, refusal_of(answer))

    def note(
        self,
        call: Call,
        attempt: int,
        duration_s: float,
        answer: Answer | ApiError | MalformedAnswerError | None,
        error: IdentityEngineError | None,
        retry_in_s: float | None = None,
    ) -> None:
        """Reports an attempt to the hook and the log. ``answer``: has status and request id."""
        hook = self.settings.on_attempt
        level = logging.DEBUG if error is None else self.settings.failure_level
        if hook is None and not LOGGER.isEnabledFor(level):
            return
        event = AttemptEvent(
            method=call.method,
            path=call.path,
            attempt=attempt,
            status=None if answer is None else answer.status,
            duration_s=duration_s,
            request_id=None if answer is None else answer.request_id,
            retry_in_s=retry_in_s,
            error=error,
        )
        LOGGER.log(level, "%s", event)
        if hook is None:
            return
        try:
            hook(event)
        except Exception:
            LOGGER.exception("on_attempt raised an error")
