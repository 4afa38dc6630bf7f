"""How a client is set up: what its arguments and the environment come to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from identity_engine._core.attempt_event import AttemptEvent
from identity_engine.errors import ConfigurationError

BASE_URL_DEFAULT = "http://127.0.0.1:8000/v1"
"""Where ``make run`` of the service listens."""

TIMEOUT_S_DEFAULT = 30.0
"""Of a whole call: three attempts that take their longest."""

ATTEMPT_TIMEOUT_S_DEFAULT = 10.0
"""Of one attempt: twice the longest call of the service."""

ATTEMPTS_MAX_DEFAULT = 10
"""With doubled waits from 0.1 s to 5 s and full jitter these outlast a fail-over of the service,
which takes some 5 s, also where connections are refused at once: 10 s on average. The deadline of
the call bounds them.
"""

CALLS_AT_ONCE = 100
"""Calls of one client under way at once, a connection each. Further ones wait within their
deadline, and wait here, because each one that waits in the pool of httpx slows down all others.
"""

KEEP_ALIVE_S = 60.0
"""How long a connection is kept for the next call: less than the 72 s of the service (interface
8.4).
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What every call of a client begins with."""

    api_key: str
    base_url: str
    timeout_s: float
    attempt_timeout_s: float
    attempts_max: int
    on_attempt: Callable[[AttemptEvent], None] | None

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r})"


def settings_of(
    *,
    api_key: str | None,
    base_url: str | None,
    timeout_s: float,
    attempt_timeout_s: float,
    attempts_max: int,
    on_attempt: Callable[[AttemptEvent], None] | None,
) -> Settings:
    """Settings of these arguments; what is None is taken from the environment.

    Raises ``ConfigurationError`` for what no call could succeed with.
    """
    key = api_key if api_key is not None else os.environ.get("IDENTITY_ENGINE_API_KEY", "")
    if key == "":
        raise ConfigurationError("no API key: pass api_key or set IDENTITY_ENGINE_API_KEY")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError("the API key has characters that no key has")
    address = base_url or os.environ.get("IDENTITY_ENGINE_BASE_URL") or BASE_URL_DEFAULT
    for name, value in (("timeout_s", timeout_s), ("attempt_timeout_s", attempt_timeout_s)):
        if not value > 0:
            raise ConfigurationError(f"{name} is {value}; it must be more than 0 seconds")
    if attempts_max < 1:
        raise ConfigurationError(f"attempts_max is {attempts_max}; it must be at least 1")
    return Settings(
        api_key=key,
        base_url=_checked(address),
        timeout_s=timeout_s,
        attempt_timeout_s=attempt_timeout_s,
        attempts_max=attempts_max,
        on_attempt=on_attempt,
    )


def _checked(address: str) -> str:
    trimmed = address.rstrip("/")
    parts = urlsplit(trimmed)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise ConfigurationError(f"the base address {address!r} is no http or https address")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("the base address has a user or a password; the key goes alone")
    if not parts.path.endswith("/v1") or parts.query or parts.fragment:
        raise ConfigurationError(f"the base address {address!r} does not end in /v1")
    return trimmed
