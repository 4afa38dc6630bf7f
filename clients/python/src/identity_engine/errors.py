"""Every error that a client raises.

``IdentityEngineError`` is the root. ``ApiError`` is an answer of the service that says no, with one
class for each code; the others say that there was no answer that can be used. Being throttled is no
error but a value of the result, unless the call asked for ``strict``.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from identity_engine.actions import ACTIONS
from identity_engine.results import Limits


class IdentityEngineError(Exception):
    """The root of all errors of this package."""

    may_have_happened: bool = False
    """Whether the call may have changed something in spite of the error. False for reads."""

    attempts: int = 0
    """How often the request was sent, or tried to be; 0 where no call was made."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made again from their arguments, which these do not all keep.
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(
    kind: type[IdentityEngineError], args: tuple[Any, ...], fields: dict[str, Any]
) -> IdentityEngineError:
    """The error as it was pickled."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class ConfigurationError(IdentityEngineError, ValueError):
    """A client or a call cannot be made like this: no key, a base address that does not end in
    ``/v1``, an id, a header or a value that cannot be sent. Nothing was sent.
    """


class ApiError(IdentityEngineError):
    """A refusal by the service. Codes that this version does not know are of this class itself."""

    def __init__(
        self,
        *,
        code: str,
        message: str,
        status: int,
        request_id: str | None,
        limits: Limits,
        details: Mapping[str, Any] | None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        """The stable code, such as ``not_found``."""
        self.message = message
        """Text for people; it may change."""
        self.status = status
        """The HTTP status."""
        self.request_id = request_id
        """The id under which the service logged the request."""
        self.limits = limits
        """What is left of the minute and the month."""
        self.details = details
        """All of ``details``, fields that this version does not know included; None without any."""
        self.retry_after_s = retry_after_s
        """How long to wait before the same call can succeed, in seconds; None where that is
        not known.
        """

    @property
    def field(self) -> str | None:
        """The JSON path, parameter or header that is wrong, such as
        ``observations[3].timestamp``.
        """
        return self._detail("field")

    @property
    def reason(self) -> str | None:
        """The stable token of why, such as ``out_of_range``."""
        return self._detail("reason")

    def _detail(self, name: str) -> str | None:
        value = None if self.details is None else self.details.get(name)
        return value if isinstance(value, str) else None

    def __str__(self) -> str:
        parts = [f"{self.status} {self.code}: {self.message}"]
        about = [("field", self.field), ("reason", self.reason), ("request", self.request_id)]
        parts += [f"{name} {value}" for name, value in about if value is not None]
        return ", ".join(parts)


class UnauthorizedError(ApiError):
    """401 ``unauthorized``: the API key is missing or not valid."""


class ForbiddenError(ApiError):
    """403 ``forbidden``: the key is valid and may not do this; ``reason`` says why."""


class NotFoundError(ApiError):
    """404 ``not_found``: no such instance, persona or endpoint, or one of another account."""


class InvalidRequestError(ApiError):
    """400 to 431 ``invalid_request``: ``field`` says what is wrong, ``reason`` why."""


class ConflictError(ApiError):
    """409 ``conflict``: the state does not allow it, such as ``version_mismatch``."""


class ThrottledError(ApiError):
    """429 ``throttled``: an observation too early, only with ``strict``. Nothing was changed."""


class RateLimitedError(ApiError):
    """429 ``rate_limited``: the requests of this minute are used up, or too many streams are
    open.
    """


class QuotaExceededError(ApiError):
    """429 ``quota_exceeded``: the cycles of this month are used up, or a batch needs more."""


class ServiceUnavailableError(ApiError):
    """503 ``service_unavailable``: ``may_have_happened`` says whether it is certain that nothing
    did.
    """


class InternalServerError(ApiError):
    """500 ``internal``: an error of the service. ``request_id`` helps its operators."""


class BillingProviderNotConfiguredError(ApiError):
    """500 ``billing_provider_not_configured``: the service has no payment provider."""


class InvalidPlanError(ApiError):
    """422 ``invalid_plan``: no such plan can be bought."""


class WebhookVerificationFailedError(ApiError):
    """400 ``webhook_verification_failed``: the service refused a payment notification."""


class ConnectionError(IdentityEngineError, builtins.ConnectionError):
    """No answer: no connection, one that broke, or an attempt that took too long."""


class DeadlineError(IdentityEngineError, TimeoutError):
    """The deadline of the whole call, ``timeout_s``, has passed, in an attempt or between two."""

    def __init__(self, message: str, last_error: IdentityEngineError | None = None) -> None:
        super().__init__(message)
        self.__cause__ = last_error
        self.last_error = last_error
        """What the last attempt that ended by itself ended with; None if none did."""


class MalformedAnswerError(IdentityEngineError):
    """An answer that is not of the service, such as the HTML page of a proxy."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status of the answer."""
        self.request_id = request_id
        """The id of the request, where the answer had one."""
        self.retry_after_s = retry_after_s
        """The answer's ``Retry-After`` in seconds."""


class ActionForbiddenError(IdentityEngineError):
    """``guard.require`` of an action that the contract forbids."""

    def __init__(self, action: str) -> None:
        super().__init__(f"the contract forbids {action}")
        self.action = action
        """The forbidden action."""


class UnknownActionError(IdentityEngineError, ValueError):
    """A guard was asked about a word that is no action, such as a misspelt one."""

    def __init__(self, action: object) -> None:
        super().__init__(f"unknown action {action!r}; actions are {', '.join(ACTIONS)}")
        self.action = action
        """The word that the guard was asked about."""


class NoContractError(IdentityEngineError):
    """A guard was asked before any contract was seen; ``refresh`` gets one."""


class StaleContractError(IdentityEngineError):
    """The contract that a guard holds is older than its ``max_age_s``; ``refresh`` gets a new
    one.
    """

    def __init__(self, age_s: float, max_age_s: float) -> None:
        super().__init__(
            f"the contract is {age_s:.1f} s old, more than {max_age_s:g} s; call refresh"
        )
        self.age_s = age_s
        """Seconds since the request that brought the contract."""
        self.max_age_s = max_age_s
        """The age that the guard allows, in seconds."""


class ClientClosedError(IdentityEngineError):
    """A call of a client that is closed, or whose ``http_client`` is. Nothing was sent."""


class SpoolError(IdentityEngineError):
    """A spool cannot be opened, read or written. ``add`` has not taken its observation then."""


class BufferClosedError(IdentityEngineError):
    """An observation was added to a buffer that is closed."""


ERROR_CLASSES: Mapping[str, type[ApiError]] = {
    "unauthorized": UnauthorizedError,
    "forbidden": ForbiddenError,
    "not_found": NotFoundError,
    "invalid_request": InvalidRequestError,
    "conflict": ConflictError,
    "throttled": ThrottledError,
    "rate_limited": RateLimitedError,
    "quota_exceeded": QuotaExceededError,
    "service_unavailable": ServiceUnavailableError,
    "internal": InternalServerError,
    "billing_provider_not_configured": BillingProviderNotConfiguredError,
    "invalid_plan": InvalidPlanError,
    "webhook_verification_failed": WebhookVerificationFailedError,
}
"""The class of each code. A code that is not here is an ``ApiError``."""
