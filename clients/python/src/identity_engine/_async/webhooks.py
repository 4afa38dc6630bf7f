"""``client.webhooks``: where the service sends the events of the account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from identity_engine._async.caller import AsyncCaller
from identity_engine._async.page import AsyncPage, fetch_page
from identity_engine._core.call import Repeatable, get, path_of, send
from identity_engine._core.envelope import Many, One, refused_as, result_of
from identity_engine.errors import NotFoundError
from identity_engine.models import (
    DeletedWebhook,
    EventType,
    Redelivered,
    Webhook,
    WebhookAttempt,
    WebhookDeliveries,
    WebhookWithSecret,
)
from identity_engine.results import Result

_WEBHOOK = One[Webhook]
_SECRET = One[WebhookWithSecret]
_DELETED = One[DeletedWebhook]
_ATTEMPT = One[WebhookAttempt]
_DELIVERIES = One[WebhookDeliveries]
_REDELIVERED = One[Redelivered]
_LISTED = Many[Webhook]


class AsyncWebhooks:
    """Webhook endpoints. Verify messages with a library of Standard Webhooks.

    A change is retried only if the failed attempt certainly changed nothing.
    """

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def create(
        self,
        url: str,
        *,
        description: str | None = None,
        event_types: Sequence[EventType] | None = None,
        max_batch: int | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[WebhookWithSecret]:
        """Adds an endpoint. Only this result has its ``secret``.

        Args:
            url: ``https://``, port 443, and a public address.
            description: Up to 200 characters.
            event_types: Wanted types. Default: all types but ``contract_changed`` and
                ``mode_changed``.
            max_batch: Maximum changes in one message, 1 to 100.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            InvalidRequestError: The address cannot be used (``endpoint_refused``).
            ForbiddenError: The account has 20 endpoints (``webhook_limit``).
        """
        fields = {"description": description, "event_types": event_types, "max_batch": max_batch}
        body = {"url": url, **_given(fields)}
        call = send("POST", "/webhooks", body, Repeatable.UNCHANGED, request_id=request_id)
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _SECRET)

    async def list(
        self,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> AsyncPage[Webhook]:
        """Returns all endpoints as one page, oldest first.

        Args:
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.
        """
        return await fetch_page(
            self._caller,
            "/webhooks",
            {},
            _LISTED,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    async def get(
        self,
        id: str,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Webhook]:
        """Reads an endpoint.

        Args:
            id: ``whk_`` and 16 hexadecimal digits.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no endpoint with this id.
        """
        call = get(path_of("webhooks", id), request_id=request_id)
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _WEBHOOK)

    async def update(
        self,
        id: str,
        *,
        url: str | None = None,
        description: str | None = None,
        event_types: Sequence[EventType] | None = None,
        max_batch: int | None = None,
        is_paused: bool | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Webhook]:
        """Changes an endpoint.

        Args:
            id: ``whk_`` and 16 hexadecimal digits.
            url: ``https://``, port 443, and a public address.
            description: Up to 200 characters.
            event_types: Wanted types. Default: all types but ``contract_changed`` and
                ``mode_changed``.
            max_batch: Maximum changes in one message, 1 to 100.
            is_paused: False resumes an endpoint.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no endpoint with this id.
            InvalidRequestError: The address cannot be used (``endpoint_refused``).
        """
        fields = {"description": description, "event_types": event_types, "max_batch": max_batch}
        body = _given({"url": url, **fields, "is_paused": is_paused})
        call = send(
            "PATCH", path_of("webhooks", id), body, Repeatable.UNCHANGED, request_id=request_id
        )
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _WEBHOOK)

    async def delete(
        self,
        id: str,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[DeletedWebhook]:
        """Deletes an endpoint.

        If the service answers "not found" after an attempt with unknown outcome, the call succeeds.
        ``status`` is then 404.

        Args:
            id: ``whk_`` and 16 hexadecimal digits.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no endpoint with this id.
        """
        path = path_of("webhooks", id)
        call = send("DELETE", path, None, Repeatable.DELETE, request_id=request_id)
        try:
            answer = await self._caller.send(call, timeout_s, attempts_max)
        except NotFoundError as error:
            if not error.may_have_happened:
                raise
            return refused_as(error, DeletedWebhook(id=id, deleted=True))
        return result_of(answer, _DELETED)

    async def rotate(
        self,
        id: str,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[WebhookWithSecret]:
        """Replaces the secret. Only this result has the new secret.

        For a day, messages have a signature of the new and of the old secret.

        Args:
            id: ``whk_`` and 16 hexadecimal digits.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no endpoint with this id.
        """
        call = send(
            "POST",
            path_of("webhooks", id, "rotate"),
            None,
            Repeatable.UNCHANGED,
            request_id=request_id,
        )
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _SECRET)

    async def test(
        self,
        id: str,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[WebhookAttempt]:
        """Sends a test message, and returns the outcome after at most 8 s.

        Args:
            id: ``whk_`` and 16 hexadecimal digits.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no endpoint with this id.
        """
        call = send(
            "POST",
            path_of("webhooks", id, "test"),
            None,
            Repeatable.UNCHANGED,
            request_id=request_id,
        )
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _ATTEMPT)

    async def deliveries(
        self,
        id: str,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[WebhookDeliveries]:
        """Returns the last attempts, and the changes that were given up.

        Args:
            id: ``whk_`` and 16 hexadecimal digits.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no endpoint with this id.
        """
        call = get(path_of("webhooks", id, "deliveries"), request_id=request_id)
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _DELIVERIES)

    async def redeliver(
        self,
        id: str,
        positions: Sequence[int],
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Redelivered]:
        """Delivers changes once more.

        Args:
            id: ``whk_`` and 16 hexadecimal digits.
            positions: Positions of changes, 1 to 200.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            ConflictError: The endpoint is paused.
            NotFoundError: The account has no such endpoint, or the log no such change.
        """
        path, body = path_of("webhooks", id, "redeliver"), {"positions": list(positions)}
        call = send("POST", path, body, Repeatable.UNCHANGED, request_id=request_id)
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _REDELIVERED)


def _given(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}
