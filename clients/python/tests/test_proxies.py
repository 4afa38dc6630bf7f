"""The proxy settings that the README names."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from both_clients import KEY, Kind, client_of, client_with
from test_events import DELETED, stream
from wire_server import Reply, Request, data, serving

PACKAGE = Path(__file__).resolve().parent.parent
CERTIFICATE = PACKAGE.parent.parent / "test" / "grpc" / "certificates" / "edge"
"""Certificate of ``edge.identity-engine``, with its authority."""

INSTANCE = "inst_0123456789abcdef"
SOCKET_S_MAX = 20.0
"""Maximum silence of a socket, in seconds."""


class Proxy:
    """HTTP proxy that sends everything to one local port, whatever the host in the request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.heads: list[str] = []
        """First lines and headers of the received requests, one text each."""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            client.settimeout(SOCKET_S_MAX)
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65_536)
            self.heads.append(head.decode("latin-1"))
            with socket.create_connection(("127.0.0.1", self._port), SOCKET_S_MAX) as service:
                if head.startswith(b"CONNECT "):
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    # One request per connection, with the path instead of the whole URL.
                    method, url, rest = head.split(b" ", 2)
                    path = urlsplit(url.decode()).path.encode()
                    closed = rest.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
                    service.sendall(b" ".join([method, path, closed]))
                both = threading.Thread(target=pump, args=(client, service), daemon=True)
                both.start()
                pump(service, client)
                both.join(SOCKET_S_MAX)


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copies bytes until one side closes."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            target.sendall(chunk)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy_to(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()


@contextmanager
def secure_front(port: int) -> Iterator[int]:
    """Yields the port of a TLS server that forwards to a local port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE / "tls.crt", CERTIFICATE / "tls.key")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as tls:
            with socket.create_connection(("127.0.0.1", port), SOCKET_S_MAX) as service:
                threading.Thread(target=pump, args=(tls, service), daemon=True).start()
                pump(service, tls)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.settimeout(SOCKET_S_MAX)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def answer(request: Request) -> Reply:
    """Answers both requests of ``use``."""
    if request.path.endswith("/events"):
        return stream(DELETED)
    return data({"plan": "free"})


def use(client: object) -> None:
    """Makes a call and follows a stream to its end."""
    assert client.request("GET", "/later").data == {"plan": "free"}  # type: ignore[attr-defined]
    events = client.instance(INSTANCE).events()  # type: ignore[attr-defined]
    assert [event.type for event in events] == ["deleted"]


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


PASSWORD = f"Proxy-Authorization: Basic {base64.b64encode(b'ada:secret').decode()}"


def port_of(address: str) -> int:
    port = urlsplit(address).port
    assert port is not None
    return port


def test_http_proxy_of_the_environment(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answer) as server, proxy_to(port_of(server.base_url)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://ada:secret@{proxy.host}")
        with client_of(kind, "http://service.test/v1") as client:
            use(client)
    assert proxy.heads[0].startswith("GET http://service.test/v1/later HTTP/1.1\r\n")
    assert all(PASSWORD in head for head in proxy.heads)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_https_proxy_of_the_environment_tunnels_without_the_key(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(answer) as server, secure_front(port_of(server.base_url)) as port:
        with proxy_to(port) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://ada:secret@{proxy.host}")
            monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE / "ca.crt"))
            with client_of(kind, "https://edge.identity-engine/v1") as client:
                use(client)
    for head in proxy.heads:
        assert head.startswith("CONNECT edge.identity-engine:443 HTTP/1.1\r\n")
        assert PASSWORD in head
        assert KEY not in head
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "proxy-authorization" not in server.requests[0].headers


def test_hosts_in_no_proxy_need_no_proxy(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answer) as server, proxy_to(port_of(server.base_url)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with client_of(kind, server.base_url) as client:
            use(client)
    assert proxy.heads == []


def test_proxy_of_an_http_client(kind: Kind) -> None:
    with serving(answer) as server, proxy_to(port_of(server.base_url)) as proxy:
        address = f"http://ada:secret@{proxy.host}"
        with client_with(kind, "http://service.test/v1", proxy=address) as client:
            use(client)
    assert proxy.heads[0].startswith("GET http://service.test/v1/later HTTP/1.1\r\n")
    assert all(PASSWORD in head for head in proxy.heads)
