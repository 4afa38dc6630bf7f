"""The client class with its resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import TracebackType
from typing import Any, overload

import httpx
from typing_extensions import Self

from identity_engine._core.attempt_event import AttemptEvent
from identity_engine._core.dictionaries import FleetObservationInput
from identity_engine._core.envelope import requested_of
from identity_engine._core.raw_request import RequestMethod, raw
from identity_engine._core.request_headers import extra_headers
from identity_engine._core.settings import (
    ATTEMPT_TIMEOUT_S_DEFAULT,
    TIMEOUT_S_DEFAULT,
    settings_of,
)
from identity_engine._generated import ProcessedFleet
from identity_engine._sync.account import OwnAccount
from identity_engine._sync.account_events import AccountEvents
from identity_engine._sync.audit import Audit
from identity_engine._sync.billing import Billing
from identity_engine._sync.caller import Caller
from identity_engine._sync.connections import Connections
from identity_engine._sync.fleet import FleetCalls
from identity_engine._sync.hub import Hubs
from identity_engine._sync.instance import InstanceHandle
from identity_engine._sync.instances import Instances
from identity_engine._sync.personality_tests import Tests
from identity_engine._sync.personas import Personas
from identity_engine._sync.webhooks import Webhooks
from identity_engine.results import NotModified, Requested, Result


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
        headers: Extra headers of every request; values are printable ASCII. Headers that have an
            option, such as ``Authorization``, are refused. See also ``with_headers``.
        application: Name of the calling application for the header ``User-Agent``, such as
            ``my-game/2.1``. At most 200 characters.

    Raises:
        ConfigurationError: The key is missing, the address does not end in ``/v1``, or an option is
            invalid.
    """

    instances: Instances
    """Creates, reads, renames, deletes and lists instances."""
    personas: Personas
    """The reference personas."""
    tests: Tests
    """The personality test."""
    account: OwnAccount
    """Plan, usage and key."""
    audit: Audit
    """The audit trail."""
    events: AccountEvents
    """The events of all instances of the account."""
    webhooks: Webhooks
    """Webhook endpoints: where the service sends events."""
    billing: Billing
    """Payment provider pages."""

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
        headers: Mapping[str, str] | None = None,
        application: str | None = None,
    ) -> None:
        settings = settings_of(
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
            attempt_timeout_s=attempt_timeout_s,
            attempts_max=attempts_max,
            on_attempt=on_attempt,
            headers=headers,
            application=application,
        )
        connections = Connections(settings, http_client)
        self._call_with(Caller(settings, connections, settings.headers))

    def _call_with(self, caller: Caller) -> None:
        self._caller = caller
        self._hubs = Hubs()
        self.instances = Instances(caller)
        self.personas = Personas(caller)
        self.tests = Tests(caller)
        self.account = OwnAccount(caller)
        self.audit = Audit(caller)
        self.events = AccountEvents(caller)
        self.webhooks = Webhooks(caller)
        self.billing = Billing(caller)

    @property
    def base_url(self) -> str:
        """Base address of the calls."""
        return self._caller.settings.base_url

    def instance(self, id: str) -> InstanceHandle:
        """Returns an instance handle, without a request."""
        return InstanceHandle(self._caller, self._hubs, id)

    def process(
        self,
        observations: Sequence[FleetObservationInput],
        *,
        include_state: bool = False,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[ProcessedFleet]:
        """Processes observations of many instances (interface 4.2, "Fleet calls").

        ``data.results`` has one result per observation, in input order: each observation is
        applied, throttled or refused by itself. Lists of more than 1,000 observations become
        several calls, one after the other. An observation without ``idempotency_key`` gets a new
        UUIDv7. Observations that fail for a passing reason are repeated with their keys.

        Args:
            observations: Observations with ``instance_id``. The observations of one instance keep
                their order.
            include_state: Whether results have ``snapshot``, ``contract`` and ``drift``.
            request_id: Caller's request id.
            timeout_s: Deadline including repetitions, in seconds, for each 1,000 observations.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            RateLimitedError: The minute has too few requests left for the first call.
            QuotaExceededError: No cycle is left, and no observation was replayed.
            ConnectionError, DeadlineError: The first call got no answer. Observations may have been
                applied: repeat them with your own keys.
        """
        calls = FleetCalls(
            self._caller,
            include_state=include_state,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )
        return calls.process(observations)

    def with_headers(self, headers: Mapping[str, str]) -> Self:
        """Returns a client whose calls and streams also send these headers, without a request.

        Both clients share their connections: closing one closes both. A header of this client with
        the same name is replaced.

        Args:
            headers: Names and values; values are printable ASCII.

        Raises:
            ConfigurationError: A name or value is invalid, or the header has an option, such as
                ``Idempotency-Key``.
        """
        view = copy(self)
        view._call_with(self._caller.with_headers(extra_headers(headers)))
        return view

    @overload
    def request(
        self,
        method: RequestMethod,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        if_none_match: None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Requested[Any]: ...

    @overload
    def request(
        self,
        method: RequestMethod,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        if_none_match: str,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Requested[Any] | NotModified: ...

    def request(
        self,
        method: RequestMethod,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Requested[Any] | NotModified:
        """Sends a request to any path, such as a path of a later service.

        A GET is retried like other reads. A change is retried with an ``idempotency_key``, and
        otherwise only if the failed attempt certainly changed nothing.

        Args:
            method: ``GET``, ``POST``, ``PUT``, ``PATCH`` or ``DELETE``.
            path: Path relative to ``/v1``, beginning with ``/``. Segments are encoded.
            query: Query parameters; parameters with value None are omitted.
            body: Request body, sent as JSON; default no body.
            idempotency_key: 1 to 255 printable ASCII characters; default no key. Set a key only for
                a path that supports keys.
            if_match: The expected ``etag``.
            if_none_match: An ``etag``; if it is the current version, the answer is ``NotModified``.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            ConfigurationError: The path is invalid or would leave ``/v1``.
        """
        call = raw(
            method,
            path,
            query=query,
            body=body,
            idempotency_key=idempotency_key,
            if_match=if_match,
            if_none_match=if_none_match,
            request_id=request_id,
        )
        return requested_of(self._caller.send(call, timeout_s, attempts_max))

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
