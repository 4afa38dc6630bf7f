"""The client."""

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
    """A client of the Identity Engine with connections of its own. Make one and keep it.

    Calls repeat what may be repeated, within their deadline, and raise one class of error for each
    code: see ``identity_engine.errors``.

    Args:
        api_key: The key; ``IDENTITY_ENGINE_API_KEY`` if left out.
        base_url: The address, ending in ``/v1``; ``IDENTITY_ENGINE_BASE_URL`` if left out, and
            without that the address of ``make run``, ``http://127.0.0.1:8000/v1``.
        timeout_s: Deadline of one call including retries, in seconds.
        attempt_timeout_s: Maximum time of one attempt until its body is read, in seconds.
        attempts_max: Maximum number of requests per call, from 1; retries until the deadline by
            default.
        http_client: An httpx client to send with, for proxies or certificates of one's own. It is
            not closed with this client. If left out, one is made. Up to 100 calls are under way at
            once.
        on_attempt: Called after every attempt, without key and bodies. Its exceptions are
            logged.

    Raises:
        ConfigurationError: There is no key, or the address does not end in ``/v1``.
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
        """Pages of the payment provider."""

    @property
    def base_url(self) -> str:
        """Base address of the calls."""
        return self._caller.settings.base_url

    def instance(self, id: str) -> AsyncInstanceHandle:
        """Returns a handle of one instance, without a request."""
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
