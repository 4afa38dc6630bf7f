"""Extra request headers, and the application's name in ``User-Agent``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from identity_engine._version import __version__
from identity_engine.errors import ConfigurationError

_OF_HTTP = "the client sets this header itself"
_OF_TRACING = "register an OpenTelemetry propagator instead"

_OWN_HEADERS = {
    "authorization": "use the option api_key",
    "user-agent": "use the option application",
    "idempotency-key": "use the option idempotency_key",
    "if-match": "use the option if_match",
    "if-none-match": "use the option if_none_match",
    "last-event-id": "use the option after of events()",
    "prefer": "use the option strict",
    "x-request-id": "use the option request_id",
    "traceparent": _OF_TRACING,
    "tracestate": _OF_TRACING,
    "proxy-authorization": "put the password into the proxy's address",
    **dict.fromkeys(("accept", "accept-encoding", "connection", "content-encoding"), _OF_HTTP),
    **dict.fromkeys(("content-length", "content-type", "expect", "host"), _OF_HTTP),
    **dict.fromkeys(("keep-alive", "te", "trailer", "transfer-encoding", "upgrade"), _OF_HTTP),
}
"""Headers that are no extra headers, each with what to do instead."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
"""Characters of a token (RFC 9110 5.6.2), such as a header name."""

_NAME = re.compile(_TOKEN)
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
"""Accepted header values: printable ASCII, at least one character, no space at either end."""

_APPLICATION = re.compile(rf"{_TOKEN}(?:/{_TOKEN})?(?: {_TOKEN}(?:/{_TOKEN})?)*")
"""Products with optional versions, separated by spaces (RFC 9110 10.1.5)."""

APPLICATION_CHARACTERS_MAX = 200
"""Maximum length of an application name: a header line of some services ends at 256."""


def extra_headers(given: Mapping[str, str]) -> dict[str, str]:
    """Checks extra headers and returns them with lower-case names.

    Raises ``ConfigurationError`` for a header that the client sets itself, a repeated name, or an
    invalid name or value.
    """
    headers: dict[str, str] = {}
    # Callers without a type checker may pass other types.
    pairs: Iterable[tuple[object, object]] = given.items()
    for written, value in pairs:
        if not isinstance(written, str) or not _NAME.fullmatch(written):
            raise ConfigurationError(f"invalid header name: {written!a}")
        name = written.lower()
        if name in _OWN_HEADERS:
            raise ConfigurationError(f"{written} is no extra header: {_OWN_HEADERS[name]}")
        if name in headers:
            raise ConfigurationError(f"the header {name} is given twice")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise ConfigurationError(f"the header {written} has an invalid value: {value!r}")
        headers[name] = value
    return headers


def user_agent_of(application: str | None) -> str:
    """Returns the header ``User-Agent``. Raises ``ConfigurationError`` for an invalid name."""
    client = f"identity-engine-python/{__version__}"
    if application is None:
        return client
    is_short = len(application) <= APPLICATION_CHARACTERS_MAX
    if not is_short or not _APPLICATION.fullmatch(application):
        raise ConfigurationError(
            "application must be a name like my-game/2.1 of at most "
            f"{APPLICATION_CHARACTERS_MAX} characters, not {application!a}"
        )
    return f"{client} {application}"
