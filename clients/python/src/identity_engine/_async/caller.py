"""Sends calls: attempts, deadlines, repetition."""

from __future__ import annotations

import logging
import time
from types import TracebackType

import httpx
from typing_extensions import Self

from identity_engine._core.answer import Answer, refusal_of
from identity_engine._core.async_io import limit_s, new_http, sleep
from identity_engine._core.attempt_event import AttemptEvent
from identity_engine._core.attempts import Attempts
from identity_engine._core.call import Call
from identity_engine._core.settings import CONNECTIONS_MAX, KEEP_ALIVE_S, Settings
from identity_engine._core.tracing import add_trace_context
from identity_engine._core.transport_errors import connection_error_of, is_sent
from identity_engine._version import __version__
from identity_engine.errors import IdentityEngineError

logger = logging.getLogger("identity_engine")

GRACE_S = 0.05
"""How much later than httpx's own time-outs, which know more, the bound of an attempt ends it."""


class AsyncCaller:
    """The connections of a client, and how calls go over them."""

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient | None) -> None:
        self.settings = settings
        self._is_own = http_client is None
        self._http = http_client or new_http(
            httpx.Limits(
                max_connections=CONNECTIONS_MAX,
                max_keepalive_connections=CONNECTIONS_MAX,
                keepalive_expiry=KEEP_ALIVE_S,
            )
        )
        self._headers = {
            "Authorization": f"Bearer {settings.api_key}",
            "Accept": "application/json",
            "User-Agent": f"identity-engine-python/{__version__}",
        }

    async def send(self, call: Call, timeout_s: float | None = None) -> Answer:
        """The answer to a call, after as many attempts as it takes and may take.

        Raises the error of the last attempt, or ``DeadlineError``.
        """
        began_s = time.monotonic()
        attempts = Attempts(
            call,
            self.settings,
            began_s,
            self.settings.timeout_s if timeout_s is None else timeout_s,
        )
        while True:
            may_take_s = attempts.begin(time.monotonic())
            attempt_began_s = time.monotonic()
            answer, error = await self._attempt(attempts, may_take_s)
            now_s = time.monotonic()
            retry_in_s = None if error is None else attempts.failed(error, now_s)
            self._note(attempts, now_s - attempt_began_s, answer, error, retry_in_s)
            if error is None:
                assert answer is not None, "an attempt without an error has an answer"
                return answer
            if retry_in_s is None:
                raise attempts.finished(error)
            await sleep(retry_in_s)

    def request(
        self, call: Call, timeout: httpx.Timeout, accept: str | None = None
    ) -> httpx.Request:
        """The request of one attempt."""
        headers = {**self._headers, **call.headers}
        if accept is not None:
            headers["Accept"] = accept
        add_trace_context(headers)
        return self._http.build_request(
            call.method,
            self.settings.base_url + call.path,
            params=call.query or None,
            headers=headers,
            content=call.content,
            timeout=timeout,
        )

    async def open(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and gives its answer before the body is read. Raises errors of httpx."""
        return await self._http.send(request, stream=True)

    async def aclose(self) -> None:
        """Closes the connections, unless they belong to the caller's own httpx client."""
        if self._is_own:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _attempt(
        self, attempts: Attempts, may_take_s: float
    ) -> tuple[Answer | None, IdentityEngineError | None]:
        request = self.request(attempts.call, httpx.Timeout(may_take_s))
        try:
            with limit_s(may_take_s + GRACE_S):
                response = await self._http.send(request)
        except httpx.TimeoutException as error:
            return None, attempts.cut(time.monotonic() + GRACE_S, is_sent(error))
        except TimeoutError:
            return None, attempts.cut(time.monotonic(), is_sent=True)
        except httpx.HTTPError as error:
            return None, connection_error_of(error)
        answer = Answer(
            response.status_code,
            response.headers,
            response.content,
            attempts.count,
            attempts.began_s,
        )
        return (answer, None) if answer.is_success else (answer, refusal_of(answer))

    def _note(
        self,
        attempts: Attempts,
        duration_s: float,
        answer: Answer | None,
        error: IdentityEngineError | None,
        retry_in_s: float | None,
    ) -> None:
        hook = self.settings.on_attempt
        if hook is None and not logger.isEnabledFor(logging.DEBUG):
            return
        event = AttemptEvent(
            method=attempts.call.method,
            path=attempts.call.path,
            attempt=attempts.count,
            status=None if answer is None else answer.status,
            duration_s=duration_s,
            request_id=None if answer is None else answer.request_id,
            retry_in_s=retry_in_s,
            error=error,
        )
        logger.debug("%s", event)
        if hook is None:
            return
        try:
            hook(event)
        except Exception:
            logger.exception("on_attempt raised an error")
