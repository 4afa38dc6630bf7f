"""Client settings from arguments and environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from identity_engine._core.attempt_event import AttemptEvent
from identity_engine._core.attempt_log import VARIABLE, failure_level_of
from identity_engine._core.request_headers import extra_headers, user_agent_of
from identity_engine.errors import ConfigurationError

BASE_URL_DEFAULT = "http://127.0.0.1:8000/v1"
"""Address of the service started by ``make run``."""

TIMEOUT_S_DEFAULT = 30.0
"""Default deadline of a call, in seconds: three attempts of maximum duration."""

ATTEMPT_TIMEOUT_S_DEFAULT = 10.0
"""Default timeout of an attempt, in seconds: twice the service's longest call."""

CALLS_AT_ONCE = 100
"""Maximum concurrent calls per client, each on a connection.

Further calls wait within their deadline. They do not wait in httpx's pool, because each call that
waits there slows down all other calls.
"""

KEEP_ALIVE_S = 60.0
"""Time to keep an idle connection, in seconds: less than the service's 72 s (interface 8.4)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Deadline, attempt timeout and maximum attempts of a call."""

    timeout_s: float
    attempt_timeout_s: float
    attempts_max: int | None
    """Maximum requests; None for no limit before the deadline."""

    def __post_init__(self) -> None:
        for name in ("timeout_s", "attempt_timeout_s"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not value > 0:
                raise ConfigurationError(f"{name} must be above 0 seconds, not {value!r}")
        count = self.attempts_max
        if count is not None and not count >= 1:
            raise ConfigurationError(f"attempts_max must be an integer above 0, not {count!r}")


@dataclass(frozen=True, slots=True)
class Settings:
    """Client settings, without call options."""

    api_key: str
    base_url: str
    bounds: Bounds
    on_attempt: Callable[[AttemptEvent], None] | None
    headers: Mapping[str, str]
    """Extra headers of every request, with lower-case names."""
    user_agent: str
    failure_level: int
    """Logging level of a failed attempt."""

    def bounds_of(self, timeout_s: float | None, attempts_max: int | None) -> Bounds:
        """Bounds of one call. Raises ``ConfigurationError`` for a bound out of range."""
        if timeout_s is None and attempts_max is None:
            return self.bounds
        given = self.bounds
        return Bounds(
            timeout_s=given.timeout_s if timeout_s is None else timeout_s,
            attempt_timeout_s=given.attempt_timeout_s,
            attempts_max=given.attempts_max if attempts_max is None else attempts_max,
        )

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r})"


def settings_of(
    *,
    api_key: str | None,
    base_url: str | None,
    timeout_s: float,
    attempt_timeout_s: float,
    attempts_max: int | None,
    on_attempt: Callable[[AttemptEvent], None] | None,
    headers: Mapping[str, str] | None,
    application: str | None,
) -> Settings:
    """Makes settings from arguments; replaces None by the environment or defaults.

    Raises ``ConfigurationError`` for settings with which no call could succeed.
    """
    key = api_key if api_key is not None else os.environ.get("IDENTITY_ENGINE_API_KEY", "")
    if key == "":
        raise ConfigurationError("no API key: pass api_key or set IDENTITY_ENGINE_API_KEY")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError("the API key has characters that are invalid in a header")
    address = base_url or os.environ.get("IDENTITY_ENGINE_BASE_URL") or BASE_URL_DEFAULT
    return Settings(
        api_key=key,
        base_url=_checked(address),
        bounds=Bounds(timeout_s, attempt_timeout_s, attempts_max),
        on_attempt=on_attempt,
        headers=extra_headers(headers or {}),
        user_agent=user_agent_of(application),
        failure_level=failure_level_of(os.environ.get(VARIABLE)),
    )


def _checked(address: str) -> str:
    trimmed = address.rstrip("/")
    try:
        parts = urlsplit(trimmed)
        is_address = httpx.URL(trimmed).host != "" and parts.port != 0
    except (ValueError, httpx.InvalidURL) as error:
        raise ConfigurationError(f"the base URL is invalid: {error}") from error
    is_address = is_address and not any(character.isspace() for character in trimmed)
    if parts.scheme not in ("http", "https") or not is_address:
        raise ConfigurationError(f"the base URL must be an http or https URL, not {address!r}")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("the base URL must not contain a user name or a password")
    if not parts.path.endswith("/v1") or parts.query or parts.fragment:
        raise ConfigurationError(f"the base URL must end in /v1, unlike {address!r}")
    return trimmed
