"""One event stream over consecutive connections, without gaps."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx
from httpx_sse import ServerSentEvent, SSEError

from identity_engine._core.answer import Answer, malformed, refusal_of
from identity_engine._core.call import Call
from identity_engine._core.retry import retry_after_of, wait_after_stream
from identity_engine._core.sync_io import blocks_of, limit_s, sleep
from identity_engine._core.transport_errors import own_error_of
from identity_engine._sync.caller import Caller
from identity_engine.errors import (
    ApiError,
    ClientClosedError,
    ConfigurationError,
    IdentityEngineError,
    MalformedAnswerError,
    RateLimitedError,
)

E = TypeVar("E")

SILENCE_S_MAX = 45.0
"""Maximum time without data before a reconnect, in seconds: three keep-alive comments.

Source: interface 6.3.
"""

RETRY_S_DEFAULT = 1.0
"""Default delay before a reconnect, in seconds."""

_PERMANENT = frozenset({400, 401, 403, 404, 410})
"""Statuses after which a stream must not reconnect."""


@dataclass(frozen=True, slots=True)
class Source(Generic[E]):
    """A stream that a follower reads."""

    call: Call
    event_of: Callable[[ServerSentEvent], E | None]
    """Event of a block; None for a block without an event. Raises ``MalformedAnswerError``."""
    is_last: Callable[[E], bool]
    """Whether the stream ends after an event."""


@dataclass(frozen=True, slots=True)
class Arrived(Generic[E]):
    """An event with the id for resuming after this event."""

    event: E
    last_event_id: str | None


class Follower(Generic[E]):
    """Reads the events of one stream over as many connections as necessary."""

    def __init__(self, caller: Caller, source: Source[E], last_event_id: str | None) -> None:
        self._caller = caller
        self._source = source
        self._retry_s = RETRY_S_DEFAULT
        self._failures = 0
        self._too_many_since_s: float | None = None
        self.last_event_id = last_event_id

    def events(self) -> Generator[Arrived[E], None]:
        """Yields the events after ``last_event_id``.

        Raises permanent errors, and ``RateLimitedError`` if too many streams are open during the
        whole timeout of a call.
        """
        while True:
            try:
                connection = self._connection()
                try:
                    for event in connection:
                        yield Arrived(event, self.last_event_id)
                        if self._source.is_last(event):
                            return
                finally:
                    connection.close()
                wait_s = wait_after_stream(self._retry_s, random.random)
            except IdentityEngineError as error:
                self._failures += 1
                error.attempts = self._failures
                if _is_permanent(error) or self._is_over_limit(error):
                    raise
                least_s = max(self._retry_s, retry_after_of(error))
                wait_s = wait_after_stream(least_s, random.random, self._failures)
            sleep(wait_s)

    def _is_over_limit(self, error: IdentityEngineError) -> bool:
        """Whether too many streams have been open for longer than the timeout of a call.

        Earlier refusals are temporary: the service may still count this stream's broken connection.
        """
        if not isinstance(error, RateLimitedError) or error.reason != "too_many_streams":
            self._too_many_since_s = None
            return False
        now_s = time.monotonic()
        if self._too_many_since_s is None:
            self._too_many_since_s = now_s
        return now_s - self._too_many_since_s >= self._caller.settings.bounds.timeout_s

    def _connection(self) -> Generator[E, None, None]:
        """Yields the events of one connection until the service closes the connection."""
        response = self._open()
        try:
            blocks = blocks_of(response)
            try:
                for block in blocks:
                    event = self._taken(block)
                    if event is not None:
                        yield event
            finally:
                blocks.close()
        except SSEError as error:
            raise MalformedAnswerError(str(error), status=response.status_code) from error
        except IdentityEngineError:
            raise
        except Exception as error:
            raise own_error_of(error) from error
        finally:
            response.close()

    def _open(self) -> httpx.Response:
        """Opens a connection, and reports the attempt like an attempt of a call."""
        call = self._source.call
        attempt = self._failures + 1
        began_s = time.monotonic()
        try:
            response = self._answered(call)
        except IdentityEngineError as error:
            refusal = error if isinstance(error, (ApiError, MalformedAnswerError)) else None
            self._caller.note(call, attempt, time.monotonic() - began_s, refusal, error)
            raise
        opened = Answer(response.status_code, response.headers, b"")
        self._caller.note(call, attempt, time.monotonic() - began_s, opened, None)
        return response

    def _answered(self, call: Call) -> httpx.Response:
        attempt_s = self._caller.settings.bounds.attempt_timeout_s
        headers = {**self._caller.headers, "Accept": "text/event-stream"}
        if self.last_event_id is not None:
            headers["Last-Event-ID"] = self.last_event_id
        timeout = httpx.Timeout(attempt_s, read=SILENCE_S_MAX)
        try:
            with limit_s(attempt_s):
                response = self._caller.connections.open(call, timeout, headers)
                if response.status_code != 200:
                    self._refused(response)
        except IdentityEngineError:
            raise
        except TimeoutError as error:
            raise own_error_of(httpx.ReadTimeout("no answer within the attempt timeout")) from error
        except Exception as error:
            raise own_error_of(error) from error
        return response

    def _refused(self, response: httpx.Response) -> None:
        try:
            content = response.read()
        finally:
            response.close()
        answer = Answer(
            response.status_code, response.headers, content, is_read=True, is_stream=True
        )
        if answer.is_success:
            raise malformed(answer, "the body is not an event stream")
        raise refusal_of(answer)

    def _taken(self, block: ServerSentEvent) -> E | None:
        """Updates the stream from a block. Returns the block's event, if any."""
        self._failures = 0
        self._too_many_since_s = None
        if block.retry is not None:
            self._retry_s = block.retry / 1_000
        event = self._source.event_of(block)
        if block.id != "":
            self.last_event_id = block.id
        return event


def _is_permanent(error: IdentityEngineError) -> bool:
    """Whether a reconnect cannot help: a refusal, a closed client, or data of a later version."""
    if isinstance(error, MalformedAnswerError):
        return error.status == 200
    if isinstance(error, (ConfigurationError, ClientClosedError)):
        return True
    return isinstance(error, ApiError) and error.status in _PERMANENT
