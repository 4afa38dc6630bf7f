"""Connections of a client: httpx pools with a maximum number of concurrent calls."""

from __future__ import annotations

import os
import ssl
import time
from weakref import WeakKeyDictionary

import httpx

from identity_engine._core.async_io import (
    Slots,
    bounded,
    limit_s,
    new_http,
    present_place,
    take_slot,
)
from identity_engine._core.call import Call
from identity_engine._core.process import Lock, Place, process
from identity_engine._core.settings import CALLS_AT_ONCE, KEEP_ALIVE_S, Settings
from identity_engine._core.spread import CALLS_OF_A_POOL, Spread
from identity_engine._core.tracing import add_trace_context
from identity_engine.errors import ClientClosedError, ConfigurationError

GRACE_S = 0.05
"""Delay of this module's timeout after httpx's timeout, in seconds.

httpx's timeout comes first because its error is more specific.
"""

LEFT_S_MIN = 0.001
"""Minimum timeout of a request, in seconds: applies after a wait for a slot until the deadline."""

_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"),
)
"""Environment variables that httpx reads when a client is created."""


class AsyncPools:
    """Connections of one process and event loop, with a queue for calls."""

    def __init__(self, spread: Spread[httpx.AsyncClient]) -> None:
        self.spread = spread
        self.slots = Slots(CALLS_AT_ONCE)


class AsyncConnections:
    """Sends requests, one attempt each.

    Each process and each event loop has its own pools. On a shared socket, a process could receive
    the answer to another process's request.
    """

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient | None) -> None:
        self._base_url = settings.base_url
        self._given = http_client
        self._given_in = process()
        self._given_to: Place | None = None
        self._headers = {
            "Authorization": f"Bearer {settings.api_key}",
            "Accept": "application/json",
            "User-Agent": settings.user_agent,
        }
        self._lock = Lock()
        self._pools: WeakKeyDictionary[Place, AsyncPools] = WeakKeyDictionary()
        self._is_closed = False
        # Report an unusable environment in the constructor, not in the first call.
        self._verify = None if http_client is not None else _trust_of(settings.base_url)
        self._unused = None if self._verify is None else self._new()

    async def exchange(self, call: Call, may_take_s: float) -> httpx.Response:
        """Sends a request and returns the answer with its body, within ``may_take_s`` seconds.

        Raises errors of httpx, ``TimeoutError`` or ``ClientClosedError``.
        """
        until_s = time.monotonic() + may_take_s
        pools = self._present()
        await take_slot(pools.slots, may_take_s)
        try:
            number, http = pools.spread.take()
            try:
                left_s = max(until_s - time.monotonic(), LEFT_S_MIN)
                request = self._request(http, call, left_s, {})
                with limit_s(left_s + GRACE_S):
                    # A caller's client could follow, and take the extra headers elsewhere.
                    return await http.send(request, follow_redirects=False)
            finally:
                pools.spread.give_back(number)
        finally:
            pools.slots.release()

    async def open(
        self, call: Call, timeout: httpx.Timeout, headers: dict[str, str]
    ) -> httpx.Response:
        """Returns an answer before its body is read. Raises the errors of ``exchange``."""
        http = self._present().spread.pools[0]
        request = self._request(http, call, timeout, headers)
        return await http.send(request, stream=True, follow_redirects=False)

    async def aclose(self) -> None:
        """Closes the connections of this process and event loop, but not a caller's
        ``http_client``.
        """
        self._is_closed = True
        pools = self._pools.pop(present_place(), None)
        if self._given is None and pools is not None:
            for http in pools.spread.pools:
                await http.aclose()

    def _present(self) -> AsyncPools:
        """Pools of the current process and event loop."""
        if self._is_closed:
            raise ClientClosedError("the client is closed: create a new client")
        if self._given is not None and self._given.is_closed:
            raise ClientClosedError("the http_client that was passed is closed")
        place = present_place()
        pools = self._pools.get(place)
        if pools is not None:
            return pools
        with self._lock:
            pools = self._pools.get(place)
            if pools is None:
                pools = self._pools[place] = AsyncPools(self._spread_of(place))
            return pools

    def _spread_of(self, place: Place) -> Spread[httpx.AsyncClient]:
        given = self._given
        if given is None:
            return Spread(self._take_new, pools_max=CALLS_AT_ONCE // CALLS_OF_A_POOL)
        if self._given_in != place.process:
            raise ConfigurationError(
                "http_client was created before the fork: its connections belong to the parent "
                "process. Create http_client and client in this process"
            )
        if self._given_to is not None:
            raise ConfigurationError(
                "http_client was used in another event loop: its connections belong to that loop. "
                "Create http_client and client in this event loop"
            )
        self._given_to = place
        return Spread(lambda: bounded(given), pools_max=1)

    def _take_new(self) -> httpx.AsyncClient:
        http, self._unused = self._unused, None
        return http or self._new()

    def _new(self) -> httpx.AsyncClient:
        assert self._verify is not None, "a client with an http_client creates no other"
        limits = httpx.Limits(
            max_connections=None,
            max_keepalive_connections=CALLS_OF_A_POOL,
            keepalive_expiry=KEEP_ALIVE_S,
        )
        try:
            return new_http(limits, self._verify)
        except Exception as error:
            raise _environment_error(error) from error

    def _request(
        self,
        http: httpx.AsyncClient,
        call: Call,
        timeout: float | httpx.Timeout,
        others: dict[str, str],
    ) -> httpx.Request:
        headers = {**self._headers, **call.headers, **others}
        add_trace_context(headers)
        return http.build_request(
            call.method,
            self._base_url + call.path,
            params=call.query or None,
            headers=headers,
            content=call.content,
            timeout=timeout,
        )


def _trust_of(base_url: str) -> ssl.SSLContext:
    """Returns the trusted certificates. Loading takes 20 ms, so plain HTTP skips it."""
    if not base_url.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx.create_ssl_context()
    except Exception as error:
        raise _environment_error(error) from error


def _environment_error(error: Exception) -> ConfigurationError:
    """Returns the error for environment variables that httpx cannot use, with their names.

    Values are left out: a proxy address may contain a password.
    """
    names = {*_VARIABLES, *(name.lower() for name in _VARIABLES)}
    given = ", ".join(sorted(name for name in names if os.environ.get(name))) or "no variable"
    text = f"httpx cannot be set up from the environment ({given} set): {error}"
    return ConfigurationError(text)
