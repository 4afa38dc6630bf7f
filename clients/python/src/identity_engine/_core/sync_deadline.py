"""A deadline over all reads and writes of a synchronous request.

httpx bounds each network wait separately, so a server that sends a byte from time to time could
block a thread forever. These streams bound each wait by the remaining time.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import httpcore
import httpx

deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
"""Deadline of the present request, in monotonic seconds; None for no bound."""


def bound_by_deadline(client: httpx.Client) -> httpx.Client:
    """Also bounds every wait of a client's connections by ``deadline``.

    httpx has no parameter for the network backend of its pools, so this function sets private
    fields of httpx and httpcore. In a version without these fields, only single waits are bounded.
    """
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        is_bound = isinstance(backend, _BoundBackend)
        if isinstance(backend, httpcore.NetworkBackend) and not is_bound:
            setattr(pool, "_network_backend", _BoundBackend(backend))  # noqa: B010
    return client


def _left_s(timeout: float | None, late: type[Exception]) -> float | None:
    until = deadline.get()
    if until is None:
        return timeout
    left = until - time.monotonic()
    if left <= 0:
        raise late("the attempt timeout has passed")
    return left if timeout is None else min(timeout, left)


class _BoundStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left_s(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left_s(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left_s(timeout, httpcore.ConnectTimeout)
        return _BoundStream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _BoundBackend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left_s(timeout, httpcore.ConnectTimeout)
        stream = self._backend.connect_tcp(host, port, left, local_address, socket_options)
        return _BoundStream(stream)

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left_s(timeout, httpcore.ConnectTimeout)
        return _BoundStream(self._backend.connect_unix_socket(path, left, socket_options))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)
