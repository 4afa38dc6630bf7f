"""Records the traffic of a driver's calls, and loses some answers."""

from __future__ import annotations

import random
import re
import time
import uuid
from dataclasses import dataclass

import httpx

_MARK = re.compile(rb'"mark":\s*"([^"]+)"')


@dataclass(slots=True)
class Traffic:
    """Traffic of one call, or of one observation of a buffer, over all attempts."""

    start_ms: float
    """First attempt's start, in monotonic milliseconds."""
    attempts: int = 0
    key: str | None = None
    """Newest attempt's idempotency key."""
    content: bytes = b""
    """Newest forwarded answer body."""
    is_fleet: bool = False
    """Whether any attempt was a fleet call."""
    is_single: bool = False
    """Whether any attempt was a call for one instance."""


class RecordedWire(httpx.AsyncBaseTransport):
    """Transport between a client and the network.

    Loses the share ``lost_share`` of the answers to changes. With ``has_new_keys``, each attempt
    gets a new idempotency key, as a broken client would send.
    """

    def __init__(self, *, lost_share: float, has_new_keys: bool) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self._lost_share = lost_share
        self._has_new_keys = has_new_keys
        self._traffic: dict[str, Traffic] = {}

    def take(self, name: str) -> Traffic | None:
        """Removes and returns the traffic of a call, by request id or by a mark in its body."""
        return self._traffic.pop(name, None)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._has_new_keys and "idempotency-key" in request.headers:
            request.headers["idempotency-key"] = str(uuid.uuid4())
        noted = self._note(request, await request.aread())
        response = await self._inner.handle_async_request(request)
        content = await response.aread()
        await response.aclose()
        if request.method != "GET" and random.random() < self._lost_share:
            raise httpx.ReadError("the answer is lost", request=request)
        for traffic in noted:
            traffic.content = content
        return httpx.Response(response.status_code, headers=response.headers, content=content)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _note(self, request: httpx.Request, body: bytes) -> list[Traffic]:
        request_id = request.headers.get("x-request-id")
        names = [request_id] if request_id else [m.decode() for m in _MARK.findall(body)]
        is_fleet = request.url.path.endswith("/v1/process")
        noted = []
        for name in names:
            traffic = self._traffic.setdefault(name, Traffic(time.perf_counter() * 1_000))
            traffic.attempts += 1
            traffic.key = request.headers.get("idempotency-key")
            traffic.is_fleet |= is_fleet
            traffic.is_single |= not is_fleet
            noted.append(traffic)
        return noted
