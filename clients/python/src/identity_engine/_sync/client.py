"""The client class with its resources."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import httpx
from typing_extensions import Self

from identity_engine._core.attempt_event import AttemptEvent
from identity_engine._core.settings import (
    ATTEMPT_TIMEOUT_S_DEFAULT,
    TIMEOUT_S_DEFAULT,
    settings_of,
)
from identity_engine._sync.account import OwnAccount
from identity_engine._sync.audit import Audit
from identity_engine._sync.billing import Billing
from identity_engine._sync.caller import Caller
from identity_engine._sync.hub import Hubs
from identity_engine._sync.instance import InstanceHandle
from identity_engine._sync.instances import Instances
from identity_engine._sync.personality_tests import Tests
from identity_engine._sync.personas import Personas


class IdentityEngine:
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
        http_client: httpx.Client | None = None,
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
        self._caller = Caller(settings, http_client)
        self._hubs = Hubs()
        self.instances = Instances(self._caller)
        """Creates, reads, renames, deletes and lists instances."""
        self.personas = Personas(self._caller)
        """The reference personas."""
        self.tests = Tests(self._caller)
        """The personality test."""
        self.account = OwnAccount(self._caller)
        """Plan, usage and key."""
        self.audit = Audit(self._caller)
        """The audit trail."""
        self.billing = Billing(self._caller)
        """Payment provider pages."""

    @property
    def base_url(self) -> str:
        """Base address of the calls."""
        return self._caller.settings.base_url

    def instance(self, id: str) -> InstanceHandle:
        """Returns an instance handle, without a request."""
        return InstanceHandle(self._caller, self._hubs, id)

    def close(self) -> None:
        """Closes the connections. Later calls fail."""
        self._caller.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"
