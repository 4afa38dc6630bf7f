"""Converts httpx errors to this package's errors."""

from __future__ import annotations

import httpx

from identity_engine.errors import ConfigurationError, ConnectionError, IdentityEngineError

_NOTHING_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


def is_sent(error: Exception) -> bool:
    """Whether a byte of the request may have reached the service."""
    return not isinstance(error, (*_NOTHING_SENT, httpx.UnsupportedProtocol))


def own_error_of(error: Exception) -> IdentityEngineError:
    """Converts an error of httpx, its transport or the network."""
    if isinstance(error, IdentityEngineError):
        return error
    is_of_the_request = isinstance(error, (ValueError, TypeError, httpx.InvalidURL))
    if is_of_the_request and not isinstance(error, httpx.HTTPError):
        found = ConfigurationError(f"the request cannot be sent: {_text(error)}")
        found.__cause__ = error
        return found
    return connection_error_of(error)


def connection_error_of(error: Exception) -> ConnectionError:
    """Returns the error for a failed or broken connection."""
    found = ConnectionError(f"no answer: {_text(error)}")
    found.may_have_happened = is_sent(error)
    found.__cause__ = error
    return found


def _text(error: Exception) -> str:
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name
