"""The client class with its resources."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import httpx
from typing_extensions import Self

from identity_engine._async.account import AsyncOwnAccount
from identity_engine._async.audit import AsyncAudit
from identity_engine._async.billing import AsyncBilling
from identity_engine._async.caller import AsyncCaller
from identity_engine._async.hub import AsyncHubs
from identity_engine._async.instance import AsyncInstanceHandle
from identity_engine._async.instances import AsyncInstances
from identity_engine._async.personality_tests import AsyncTests
from identity_engine._async.personas import AsyncPersonas
from identity_engine._core.attempt_event import AttemptEvent
from identity_engine._core.settings import (
    ATTEMPT_TIMEOUT_S_DEFAULT,
    TIMEOUT_S_DEFAULT,
    settings_of,
)


class AsyncIdentityEngine:
    """Client for the Identity Engine. Create one client and keep it, to reuse its connections.

    Calls are retried until their deadline if a retry is safe. Each error code has its own class in
    ``identity_engine.errors``.

    Args:
        api_key: API key; default ``IDENTITY_ENGINE_API_KEY``.
        base_url: Service address, ending in ``/v1``; default ``IDENTITY_ENGINE_BASE_URL``. If that
            variable is not set: ``http://127.0.0.1:8000/v1``, the address of ``make run``.
        timeout_s: Deadline of one call including retries, in seconds.
        attempt_timeout_s: Maximum time of one attempt, from the start of the request until the
            answer's body is read, in seconds.
        attempts_max: Maximum requests per call, from 1; retries until the deadline by default.
        http_client: Your own httpx client, for example with proxies or certificates. Closing this
            client does not close ``http_client``. Up to 100 calls run concurrently.
        on_attempt: Called after every attempt, with an event that contains neither the key nor
            bodies. Exceptions are logged.

    Raises:
        ConfigurationError: The key is missing, or the address does not end in ``/v1``.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = TIMEOUT_S_DEFAULT,
        attempt_timeout_s: float = ATTEMPT_TIMEOUT_S_DEFAULT,
        attempts_max: int | None = None,
        http_client: httpx.AsyncClient | None = None,
        on_attempt: Callable[[AttemptEvent], None] | None = None,
    ) -> None:
        settings = settings_of(
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
            attempt_timeout_s=attempt_timeout_s,
            attempts_max=attempts_max,
            on_attempt=on_attempt,
        )
        self._caller = AsyncCaller(settings, http_client)
        self._hubs = AsyncHubs()
        self.instances = AsyncInstances(self._caller)
        """Creates, reads, renames, deletes and lists instances."""
        self.personas = AsyncPersonas(self._caller)
        """The reference personas."""
        self.tests = AsyncTests(self._caller)
        """The personality test."""
        self.account = AsyncOwnAccount(self._caller)
        """Plan, usage and key."""
        self.audit = AsyncAudit(self._caller)
        """The audit trail."""
        self.billing = AsyncBilling(self._caller)
        """Payment provider pages."""

    @property
    def base_url(self) -> str:
        """Base address of the calls."""
        return self._caller.settings.base_url

    def instance(self, id: str) -> AsyncInstanceHandle:
        """Returns an instance handle, without a request."""
        return AsyncInstanceHandle(self._caller, self._hubs, id)

    async def aclose(self) -> None:
        """Closes the connections. Later calls fail."""
        await self._caller.connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"
