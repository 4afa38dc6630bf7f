"""Errors of httpx as errors of this package."""

from __future__ import annotations

import httpx

from identity_engine.errors import ConnectionError

_NOTHING_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


def is_sent(error: httpx.HTTPError) -> bool:
    """Whether a byte of the request may have reached the service."""
    return not isinstance(error, (*_NOTHING_SENT, httpx.UnsupportedProtocol))


def connection_error_of(error: httpx.HTTPError) -> ConnectionError:
    """The error for a connection that could not be made or that broke."""
    name = type(error).__name__
    found = ConnectionError(f"no answer: {name}: {error}" if str(error) else f"no answer: {name}")
    found.may_have_happened = is_sent(error)
    found.__cause__ = error
    return found
