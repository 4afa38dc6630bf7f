"""Every failure raises an error of this package."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import AsyncIdentityEngine, IdentityEngine, errors
from test_async import ACCOUNT
from test_attempts import UPDATED
from test_buffer import ONE, buffer_of
from wire_server import LIMITS, Reply, data, script, serving

ADDRESS = "https://service.example/v1"

_ENDED_LOOPS = pytest.mark.filterwarnings("ignore::ResourceWarning")
"""Connections of an ended event loop warn when collected without ``aclose``."""


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("NO_PROXY", "[::1]"),
        ("ALL_PROXY", "socks://127.0.0.1:1080"),
        ("ALL_PROXY", "socks5://127.0.0.1:1080"),
        ("HTTPS_PROXY", "nonsense://user:secret@proxy"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem"),
        ("SSL_CERT_FILE", __file__),
    ],
)
@pytest.mark.parametrize("client", [IdentityEngine, AsyncIdentityEngine])
# Report 19: an environment that httpx cannot use raised errors of httpx, ssl or the system.
def test_error_names_an_unusable_environment(
    client: Callable[..., Any], variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    with pytest.raises(errors.ConfigurationError, match=variable) as found:
        client(api_key=KEY, base_url=ADDRESS)
    assert "secret" not in str(found.value)


@pytest.mark.parametrize("address", ["http://[::1/v1", "http://a:99999/v1", "http://a b/v1"])
# Report 19: an invalid address raised Python's ValueError.
def test_unreadable_address_is_refused(address: str) -> None:
    with pytest.raises(errors.ConfigurationError, match="base URL"):
        IdentityEngine(api_key=KEY, base_url=address)


# Report 19: calls after close raised httpx's RuntimeError.
def test_call_after_close_reports_the_closed_client(kind: Kind) -> None:
    with serving(script(ACCOUNT)) as server, client_of(kind, server.base_url) as client:
        client.account.get()
        client.close() if kind == "sync" else client.aclose()
        calls = [
            client.account.get,
            lambda: next(iter(client.instance(ONE).events())),
            lambda: list(client.instances.iterate()),
        ]
        for call in calls:
            error = raised(call)
            assert isinstance(error, errors.ClientClosedError)
            assert not error.may_have_happened


# Report 19: a call over a closed httpx client raised RuntimeError.
def test_closed_httpx_client_is_reported() -> None:
    http = httpx.Client()
    with serving(script(ACCOUNT)) as server:
        with IdentityEngine(api_key=KEY, base_url=server.base_url, http_client=http) as client:
            client.account.get()
            http.close()
            with pytest.raises(errors.ClientClosedError, match="http_client"):
                client.account.get()


@_ENDED_LOOPS
# Report 19: one asynchronous client in two event loops raised RuntimeError.
def test_asynchronous_client_works_in_several_event_loops() -> None:
    with serving(script(ACCOUNT)) as server:
        client = AsyncIdentityEngine(api_key=KEY, base_url=server.base_url)
        for _ in range(3):
            assert asyncio.run(_status(client)) == 200
        asyncio.run(client.aclose())
        with pytest.raises(errors.ClientClosedError):
            asyncio.run(_status(client))
        gc.collect()


@_ENDED_LOOPS
# Report 19: a caller's httpx client in two event loops raised errors of other packages.
def test_an_httpx_client_of_the_caller_belongs_to_one_event_loop() -> None:
    with serving(script(ACCOUNT)) as server:
        http = httpx.AsyncClient()
        client = AsyncIdentityEngine(api_key=KEY, base_url=server.base_url, http_client=http)
        assert asyncio.run(_status(client)) == 200
        with pytest.raises(errors.ConfigurationError, match="another event loop"):
            asyncio.run(_status(client))
        del http, client
        gc.collect()


async def _status(client: AsyncIdentityEngine) -> int:
    return (await client.account.get()).status


class Failing(httpx.BaseTransport):
    """A transport that raises an error outside the contract of transports."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise self._error


@pytest.mark.parametrize("error", [OSError("no route"), RuntimeError("pool"), KeyError("x")])
# Report 19: transport errors from outside httpx passed through.
def test_any_error_of_a_transport_is_a_connection_error(error: Exception) -> None:
    with httpx.Client(transport=Failing(error)) as http:
        with IdentityEngine(api_key=KEY, base_url=ADDRESS, http_client=http) as client:
            with pytest.raises(errors.ConnectionError) as found:
                client.instances.create("Ada", attempts_max=2)
    assert (found.value.attempts, found.value.may_have_happened) == (2, True)


def cycle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


UNSENDABLE: list[Any] = [
    pytest.param(cycle(), "cyclic", id="cycle"),
    pytest.param({"a": [1, {"b": math.nan}]}, "context.a[1].b", id="nan"),
    pytest.param({"a": -math.inf}, "context.a", id="infinity"),
    pytest.param({"a": object()}, "object", id="object"),
    pytest.param({"a": "x\ud800"}, "context.a", id="surrogate"),
    pytest.param({"a": {"\udfff": 1}}, "a key", id="surrogate in a key"),
]


@pytest.mark.parametrize(("context", "text"), UNSENDABLE)
# Report 19: values that JSON cannot represent raised pydantic errors, or were sent as NaN.
# Report 4: a lone surrogate raised UnicodeEncodeError or a pydantic error.
def test_error_names_a_value_that_cannot_be_sent(kind: Kind, context: Any, text: str) -> None:
    observation = {"mode_target": "ORDER", "signal_strength": 0.5, "context": context}
    with serving(script(ACCOUNT)) as server, client_of(kind, server.base_url) as client:
        instance = client.instance(ONE)
        with buffer_of(client) as buffer:
            for call in (
                lambda: instance.process(observation),
                lambda: instance.process_batch([observation]),
                lambda: instance.simulate([observation]),
                lambda: buffer.add(ONE, observation),
            ):
                error = raised(call)
                assert isinstance(error, errors.ConfigurationError)
                assert text in str(error)
                str(error).encode()
            buffer.close()
        assert server.requests == []


# Report 4: a lone surrogate outside of a body raised UnicodeEncodeError.
def test_lone_surrogate_is_refused_in_every_text(kind: Kind) -> None:
    with serving(script(ACCOUNT)) as server, client_of(kind, server.base_url) as client:
        for call in (
            lambda: client.instances.create("\ud800"),
            lambda: client.instances.update(ONE, description="\ud800"),
            lambda: client.instances.list(search="\ud800"),
            lambda: client.instances.get("\ud800"),
            lambda: client.instances.get(3),
            lambda: client.instances.create("Ada", idempotency_key="\ud800"),
            lambda: client.instances.create("Ada", idempotency_key=3),
            lambda: client.audit.list(actor="\ud800"),
        ):
            error = raised(call)
            assert isinstance(error, errors.ConfigurationError), error
            str(error).encode()
        assert server.requests == []


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"X-RateLimit-Reset": "9" * 14}, None),
        ({"X-RateLimit-Reset": "9" * 5_000}, None),
        ({}, b"[" * 100_000),
    ],
)
# Report 19: odd header numbers and deep bodies from proxies raised Python errors.
def test_odd_header_numbers_and_deep_bodies_raise_no_python_error(
    kind: Kind, headers: dict[str, str], body: bytes | None
) -> None:
    if body is None:
        answer = data({**UPDATED}, **{})
        answer = Reply(200, {**LIMITS, **headers}, answer.body)
    else:
        answer = Reply(502, {**LIMITS}, body)
    with serving(script(answer)) as server, client_of(kind, server.base_url) as client:
        if body is None:
            result = client.instances.update(ONE, name="Ada")
            assert result.limits.requests.reset_at is None
        else:
            error = raised(lambda: client.instances.update(ONE, name="Ada"))
            assert isinstance(error, errors.MalformedAnswerError)
