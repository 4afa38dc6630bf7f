"""``instance.events()``: the live stream of one instance, which resumes by itself."""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from types import TracebackType

import httpx
from httpx_sse import ServerSentEvent, SSEError
from typing_extensions import Self

from identity_engine._core.answer import Answer, malformed, refusal_of
from identity_engine._core.call import get, path_of
from identity_engine._core.event_text import event_of
from identity_engine._core.guards import Guards, Seen
from identity_engine._core.process import Place, inherited
from identity_engine._core.retry import wait_before
from identity_engine._core.sync_io import blocks_of, limit_s, present_place, sleep
from identity_engine._core.transport_errors import connection_error_of
from identity_engine._sync.caller import Caller
from identity_engine.errors import ApiError, IdentityEngineError, MalformedAnswerError
from identity_engine.events import DeletedEvent, Event, ResetEvent, StateEvent

SILENCE_S_MAX = 45.0
"""Three comments of the service, in seconds: a stream without a byte for so long is dead (interface
6.3).
"""

RETRY_S_DEFAULT = 1.0
"""When to come back to a stream that ended without saying when, in seconds."""

_FOR_GOOD = frozenset({400, 401, 403, 404})
"""Refusals after which a stream cannot go on."""


class EventStream:
    """Events of one instance. Nothing is asked of the service before the first is asked for.

    Iterating raises ``UnauthorizedError``, ``ForbiddenError`` or ``NotFoundError`` when the stream
    cannot go on, ``InvalidRequestError`` for an ``after`` that has not happened yet, and ends after
    ``DeletedEvent``. Everything else is waited out; cancelling a wait for an event loses none. What
    comes faster than it is taken waits in the
    connection.
    """

    def __init__(self, caller: Caller, instance_id: str, after: int | None, guards: Guards) -> None:
        self._caller = caller
        self._path = path_of("instances", instance_id, "events")
        self._guards = guards
        self._events: Generator[Event, None, None] | None = None
        self._place: Place | None = None
        self._retry_s = RETRY_S_DEFAULT
        self._failures = 0
        self._is_ended = False
        self.last_event_id: str | None = None if after is None else str(after)
        """Ordinal of the last cycle that came, to resume behind it; None before anything is
        known.
        """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if self._is_ended:
            raise StopIteration
        self._leave_other_place()
        if self._events is None:
            self._events = self._all()
        try:
            return self._events.__next__()
        except (StopIteration, IdentityEngineError):
            self._is_ended = True
            raise
        except BaseException:
            # Cancelling ends the generator, not the stream: that goes on behind the last event.
            self._events = None
            raise

    def close(self) -> None:
        """Closes the connection. Iterating ends."""
        self._is_ended = True
        self._leave_other_place()
        if self._events is not None:
            self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _leave_other_place(self) -> None:
        """Leaves a connection that another process or event loop opened, without closing it. The
        stream goes on behind its last event, over a connection of this place.
        """
        place = present_place()
        if self._place is not place:
            if self._events is not None:
                inherited.append(self._events)
                self._events = None
            self._place = place

    def _all(self) -> Generator[Event, None, None]:
        """The events of as many connections as it takes."""
        while True:
            try:
                connection = self._connection()
                try:
                    for event in connection:
                        yield event
                        if isinstance(event, DeletedEvent):
                            return
                finally:
                    connection.close()
                wait_s = self._retry_s
            except IdentityEngineError as error:
                if _is_for_good(error):
                    raise
                self._failures += 1
                wait_s = max(self._retry_s, wait_before(self._failures, error, random.random))
            sleep(wait_s)

    def _connection(self) -> Generator[Event, None, None]:
        """The events of one connection, which ends when the service ends it."""
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
        except httpx.HTTPError as error:
            raise connection_error_of(error) from error
        finally:
            response.close()

    def _open(self) -> httpx.Response:
        attempt_s = self._caller.settings.attempt_timeout_s
        headers = {"Accept": "text/event-stream"}
        if self.last_event_id is not None:
            headers["Last-Event-ID"] = self.last_event_id
        timeout = httpx.Timeout(attempt_s, read=SILENCE_S_MAX)
        try:
            with limit_s(attempt_s):
                response = self._caller.connections.open(get(self._path), timeout, headers)
                if response.status_code != 200:
                    self._refused(response)
        except httpx.HTTPError as error:
            raise connection_error_of(error) from error
        except TimeoutError as error:
            raise connection_error_of(httpx.ReadTimeout("no answer in time")) from error
        return response

    def _refused(self, response: httpx.Response) -> None:
        try:
            content = response.read()
        finally:
            response.close()
        answer = Answer(
            response.status_code, response.headers, content, is_read=True, is_stream=True
        )
        raise malformed(answer, "it is no stream") if answer.is_success else refusal_of(answer)

    def _taken(self, block: ServerSentEvent) -> Event | None:
        """Notes what a block says of the stream; its event, if it is one."""
        self._failures = 0
        if block.retry is not None:
            self._retry_s = block.retry / 1_000
        event = event_of(block)
        if block.id != "":
            self.last_event_id = block.id
        if isinstance(event, StateEvent):
            now_s = time.monotonic()
            cycle = event.data.snapshot.cycle
            self._guards.update(Seen(event.data.contract, now_s, now_s, cycle, is_event=True))
        elif isinstance(event, ResetEvent):
            self._guards.begin_again()
        return event


def _is_for_good(error: IdentityEngineError) -> bool:
    """Whether the same would come again: a refusal, or data that this version cannot read."""
    if isinstance(error, MalformedAnswerError):
        return error.status == 200
    return isinstance(error, ApiError) and error.status in _FOR_GOOD
