"""Errors of the clients.

``IdentityEngineError`` is the base class. ``ApiError`` is a refusal by the service, with a subclass
for each code. The other errors mean that no usable answer arrived. Throttling is a value in the
result, unless the call used ``strict``.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from identity_engine.actions import ACTIONS
from identity_engine.results import Headers, Limits


class IdentityEngineError(Exception):
    """Base class for all errors in this package."""

    may_have_happened: bool = False
    """Whether the call may have changed something despite the error. False for reads."""

    attempts: int = 0
    """Number of attempts to send the request; 0 without a call."""

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle recreates exceptions from ``args``, which lack some fields of these classes.
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(
    kind: type[IdentityEngineError], args: tuple[Any, ...], fields: dict[str, Any]
) -> IdentityEngineError:
    """Recreates a pickled error."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class ConfigurationError(IdentityEngineError, ValueError):
    """An option or value is unusable: a missing key, an invalid base address, or an id, header or
    value that cannot be sent. Nothing was sent.
    """


class ApiError(IdentityEngineError):
    """A refusal by the service. A refusal with an unknown code has this class itself."""

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
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        """Stable code, such as ``not_found``."""
        self.message = message
        """Text for people, which may change."""
        self.status = status
        """The HTTP status."""
        self.request_id = request_id
        """Request id in the service's log."""
        self.limits = limits
        """Remaining account limits."""
        self.details = details
        """All fields of ``details``, including unknown fields; None without details."""
        self.retry_after_s = retry_after_s
        """Seconds until a retry can succeed; None if unknown."""
        self.headers = Headers(headers)
        """All headers of the answer."""

    @property
    def field(self) -> str | None:
        """The invalid JSON path, parameter or header, such as ``observations[3].timestamp``."""
        return self._detail("field")

    @property
    def reason(self) -> str | None:
        """Stable reason, such as ``out_of_range``."""
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
    """401 ``unauthorized``: the API key is missing or invalid."""


class ForbiddenError(ApiError):
    """403 ``forbidden``: the key is valid, but does not allow the call; see ``reason``."""


class NotFoundError(ApiError):
    """404 ``not_found``: the object does not exist or belongs to another account."""


class InvalidRequestError(ApiError):
    """400 to 431 ``invalid_request``: the request is invalid; see ``field`` and ``reason``.

    A 410 has the reason ``cursor_expired``.
    """


class ConflictError(ApiError):
    """409 ``conflict``: the state does not allow the call, such as ``version_mismatch``."""


class ThrottledError(ApiError):
    """429 ``throttled``: the observation was too early; only with ``strict``. Nothing changed."""


class RateLimitedError(ApiError):
    """429 ``rate_limited``: no requests left this minute, or too many open streams."""


class QuotaExceededError(ApiError):
    """429 ``quota_exceeded``: this month's cycles are used up, or too few for a batch."""


class ServiceUnavailableError(ApiError):
    """503 ``service_unavailable``: ``may_have_happened`` is false if certainly nothing changed."""


class InternalServerError(ApiError):
    """500 ``internal``: an error in the service. Report ``request_id`` to its operators."""


class BillingProviderNotConfiguredError(ApiError):
    """500 ``billing_provider_not_configured``: the service has no payment provider."""


class InvalidPlanError(ApiError):
    """422 ``invalid_plan``: the plan cannot be bought."""


class WebhookVerificationFailedError(ApiError):
    """400 ``webhook_verification_failed``: the service refused a payment notification."""


class ConnectionError(IdentityEngineError, builtins.ConnectionError):
    """No answer: the connection failed or broke, or the attempt timed out."""


class DeadlineError(IdentityEngineError, TimeoutError):
    """The call's deadline, ``timeout_s``, has passed."""

    def __init__(self, message: str, last_error: IdentityEngineError | None = None) -> None:
        super().__init__(message)
        self.__cause__ = last_error
        self.last_error = last_error
        """Error of the last attempt that ended before the deadline; None if none did."""


class MalformedAnswerError(IdentityEngineError):
    """An answer that this client cannot read, such as a proxy's HTML page."""

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
        """HTTP status."""
        self.request_id = request_id
        """Request id of the answer, if any."""
        self.retry_after_s = retry_after_s
        """``Retry-After`` of the answer, in seconds."""


class ActionForbiddenError(IdentityEngineError):
    """The contract forbids the action; raised by ``guard.require``."""

    def __init__(self, action: str) -> None:
        super().__init__(f"the contract forbids {action}")
        self.action = action
        """The forbidden action."""


class UnknownActionError(IdentityEngineError, ValueError):
    """A guard was asked about an unknown action, such as a misspelt name."""

    def __init__(self, action: object) -> None:
        super().__init__(f"unknown action {action!r}; actions are {', '.join(ACTIONS)}")
        self.action = action
        """The unknown action."""


class NoContractError(IdentityEngineError):
    """The guard has no contract yet; call ``refresh``."""


class StaleContractError(IdentityEngineError):
    """The guard's contract is older than ``max_age_s``; call ``refresh``."""

    def __init__(self, age_s: float, max_age_s: float) -> None:
        super().__init__(
            f"the contract is {age_s:.1f} s old, more than {max_age_s:g} s; call refresh"
        )
        self.age_s = age_s
        """Contract age, in seconds."""
        self.max_age_s = max_age_s
        """Maximum age of the guard, in seconds."""


class ToolMapError(IdentityEngineError, ValueError):
    """A tool policy names an unknown action, tool or option. The message suggests a name."""


class AppraisalError(IdentityEngineError, ValueError):
    """An appraiser returned something that is no observation."""


class ClientClosedError(IdentityEngineError):
    """The client or its ``http_client`` is closed. Nothing was sent."""


class SpoolError(IdentityEngineError):
    """A spool cannot be opened, read or written. If raised by ``add``, nothing was added."""


class BufferClosedError(IdentityEngineError):
    """The buffer is closed."""


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
"""Error class for each code. Other codes use ``ApiError``."""
