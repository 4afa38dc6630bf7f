"""The connections of a client: pools of httpx, and how many calls they carry at once."""

from __future__ import annotations

import ssl
import time

import httpx

from identity_engine._core.async_io import Slots, bounded, limit_s, new_http, take_slot
from identity_engine._core.call import Call
from identity_engine._core.settings import CALLS_AT_ONCE, KEEP_ALIVE_S, Settings
from identity_engine._core.spread import CALLS_OF_A_POOL, Spread
from identity_engine._core.tracing import add_trace_context
from identity_engine._version import __version__

GRACE_S = 0.05
"""How much later than httpx's own time-outs, which know more, the bound of an attempt ends it."""

LEFT_S_MIN = 0.001
"""What an attempt has at least that got its turn in the last moment, in seconds."""


class AsyncConnections:
    """Sends requests, one attempt each."""

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient | None) -> None:
        self._base_url = settings.base_url
        self._is_own = http_client is None
        self._slots = Slots(CALLS_AT_ONCE)
        self._headers = {
            "Authorization": f"Bearer {settings.api_key}",
            "Accept": "application/json",
            "User-Agent": f"identity-engine-python/{__version__}",
        }
        verify = _trust_of(settings.base_url)
        limits = httpx.Limits(
            max_connections=None,
            max_keepalive_connections=CALLS_OF_A_POOL,
            keepalive_expiry=KEEP_ALIVE_S,
        )
        self._spread = Spread(
            lambda: new_http(limits, verify) if http_client is None else bounded(http_client),
            pools_max=CALLS_AT_ONCE // CALLS_OF_A_POOL if http_client is None else 1,
        )

    async def exchange(self, call: Call, may_take_s: float) -> httpx.Response:
        """The answer to a request, with its body read, within that many seconds.

        Raises errors of httpx, or ``TimeoutError``.
        """
        until_s = time.monotonic() + may_take_s
        await take_slot(self._slots, may_take_s)
        number, http = self._spread.take()
        try:
            left_s = max(until_s - time.monotonic(), LEFT_S_MIN)
            request = self._request(http, call, left_s, {})
            with limit_s(left_s + GRACE_S):
                return await http.send(request)
        finally:
            self._spread.give_back(number)
            self._slots.release()

    async def open(
        self, call: Call, timeout: httpx.Timeout, headers: dict[str, str]
    ) -> httpx.Response:
        """The answer to a request before its body is read. Raises errors of httpx."""
        http = self._spread.pools[0]
        return await http.send(self._request(http, call, timeout, headers), stream=True)

    async def aclose(self) -> None:
        """Closes the connections, unless they belong to the caller's own httpx client."""
        if self._is_own:
            for http in self._spread.pools:
                await http.aclose()

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
    """The certificates to trust. Loading them takes 20 ms, which plain HTTP does without."""
    if base_url.startswith("https:"):
        return httpx.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
