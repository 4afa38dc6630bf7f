"""A server on a real socket with scripted answers, including protocol violations."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

WAIT_S_MAX = 20.0
"""Maximum silence of a test connection, in seconds."""


@dataclass(frozen=True)
class Request:
    """A received request."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    at_s: float

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """An answer, whole or in pieces.

    ``then``: after the pieces, ``end`` ends the answer, ``cut`` closes the connection, and ``open``
    leaves the answer open.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    chunks: tuple[bytes, ...] | None = None
    then: Literal["end", "cut", "open"] = "end"
    pause_s: float = 0.0
    """Pause between pieces, in seconds."""


Fault = Literal["close", "reset", "silence", "garbage", "dribble"]
Answering = Callable[[Request], Reply | Fault]


def data(value: object, status: int = 200, **headers: str) -> Reply:
    """A successful answer with data and the service's headers."""
    given = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, {**LIMITS, **given}, json.dumps({"data": value}).encode())


def refusal(status: int, code: str, retry_after: int | None = None, **details: str) -> Reply:
    """A refusal in the service's envelope."""
    body: dict[str, object] = {"error": code, "message": f"this is {code}"}
    if details:
        body["details"] = details
    headers = LIMITS if retry_after is None else {**LIMITS, "Retry-After": str(retry_after)}
    return Reply(status, headers, json.dumps(body).encode())


LIMITS = {
    "X-Request-Id": "req_0123456789abcdef",
    "X-RateLimit-Limit": "60",
    "X-RateLimit-Remaining": "59",
    "X-RateLimit-Reset": "1768478460",
    "X-Monthly-Remaining": "100",
}


class WireServer:
    """Listens on loopback until closed. ``requests``: received requests, in order."""

    def __init__(self, answer: Answering) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.requests: list[Request] = []
        self.connections = 0
        self._run(self._accept)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(WAIT_S_MAX)

    def _run(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(WAIT_S_MAX)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets.add(connection)
                self.connections += 1
                number = self.connections
            self._run(self._converse, connection, number)

    def _converse(self, connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError):
            reader = connection.makefile("rb")
            with reader:
                while (request := _read(reader, number)) is not None:
                    with self._lock:
                        self.requests.append(request)
                    if not self._send(connection, self._answer(request)):
                        break
        with self._lock:
            self._sockets.discard(connection)

    def _send(self, connection: socket.socket, answer: Reply | Fault) -> bool:
        """Sends an answer. Returns whether the connection stays open."""
        match answer:
            case "close":
                return False
            case "reset":
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return False
            case "silence":
                self._closed.wait(WAIT_S_MAX)
                return False
            case "garbage":
                connection.sendall(b"\x16\x03\x01 not HTTP\r\n\r\n")
                return False
            case "dribble":
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not self._closed.wait(0.05):
                    connection.sendall(b"x")
                return False
            case Reply(chunks=None):
                connection.sendall(_head(answer, len(answer.body)) + answer.body)
                return True
        return self._send_pieces(connection, answer)

    def _send_pieces(self, connection: socket.socket, answer: Reply) -> bool:
        connection.sendall(_head(answer, None))
        for piece in answer.chunks or ():
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            if self._closed.wait(answer.pause_s or 0.001):
                return False
        if answer.then == "open":
            self._closed.wait(WAIT_S_MAX)
        elif answer.then == "end":
            connection.sendall(b"0\r\n\r\n")
        return answer.then == "end"


def _head(answer: Reply, length: int | None) -> bytes:
    headers = {name.lower(): text for name, text in answer.headers.items()}
    headers = {"content-type": "application/json", **headers}
    headers.pop("content-length", None)
    if length is None:
        headers["Transfer-Encoding"] = "chunked"
    elif answer.status not in (204, 304):
        headers["Content-Length"] = str(length)
    lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _read(reader: Any, number: int) -> Request | None:
    """Reads a request. Returns None if the client closes before the end, like a killed process."""
    line = reader.readline()
    if not line.endswith(b"\n"):
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (text := reader.readline()) != b"\r\n":
        if not text.endswith(b"\n"):
            return None
        name, _, value = text.decode("latin-1").strip().partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    body = reader.read(length)
    if len(body) < length:
        return None
    return Request(method, target, headers, body, number, time.monotonic())


@contextmanager
def serving(answer: Answering) -> Iterator[WireServer]:
    """Runs a server for the duration of a block."""
    server = WireServer(answer)
    try:
        yield server
    finally:
        server.close()


def script(*answers: Reply | Fault) -> Answering:
    """Returns a function that gives these answers in order. The last answer repeats."""
    left = list(answers)
    lock = threading.Lock()

    def answer(_: Request) -> Reply | Fault:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return answer
