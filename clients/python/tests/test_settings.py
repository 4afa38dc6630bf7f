"""Client settings."""

from __future__ import annotations

import httpx
import pytest

from both_clients import KEY, Kind, client_of
from identity_engine import ConfigurationError, IdentityEngine
from wire_server import data, script, serving


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IDENTITY_ENGINE_API_KEY", raising=False)
    monkeypatch.delenv("IDENTITY_ENGINE_BASE_URL", raising=False)


def test_client_without_a_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="IDENTITY_ENGINE_API_KEY"):
        IdentityEngine()


def test_key_and_address_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENTITY_ENGINE_API_KEY", KEY)
    with IdentityEngine() as client:
        assert client.base_url == "http://127.0.0.1:8000/v1"
    monkeypatch.setenv("IDENTITY_ENGINE_BASE_URL", "https://api.example/v1/")
    with IdentityEngine() as client:
        assert client.base_url == "https://api.example/v1"


@pytest.mark.parametrize(
    "address", ["http://a.example", "http://a.example/v2", "ftp://a.example/v1", "a/v1", "/v1"]
)
def test_an_address_that_does_not_end_in_v1_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="base URL"):
        IdentityEngine(api_key=KEY, base_url=address)


def test_deadlines_and_attempts_have_minimum_values() -> None:
    with pytest.raises(ConfigurationError, match="timeout_s"):
        IdentityEngine(api_key=KEY, timeout_s=0)
    with pytest.raises(ConfigurationError, match="attempts_max"):
        IdentityEngine(api_key=KEY, attempts_max=0)


def test_key_with_a_line_end_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        IdentityEngine(api_key="svc_sk_x\r\nX-Other: 1")


def test_repr_of_a_client_hides_its_key() -> None:
    with IdentityEngine(api_key=KEY) as client:
        assert KEY not in repr(client)
        assert KEY not in repr(client._caller.settings)


def test_given_httpx_client_is_used_and_stays_open() -> None:
    with serving(script(data([]))) as server, httpx.Client(headers={"X-Own": "1"}) as http:
        with IdentityEngine(api_key=KEY, base_url=server.base_url, http_client=http) as client:
            with pytest.raises(Exception, match="is not a valid answer"):
                client.account.get()
        assert not http.is_closed
    assert server.requests[0].headers["x-own"] == "1"


def test_ids_cannot_change_the_path(kind: Kind) -> None:
    with serving(script(data({}))) as server, client_of(kind, server.base_url) as client:
        with pytest.raises(Exception, match="is not a valid answer"):
            client.instances.get("../account?x=1#y")
    assert server.requests[0].target == "/v1/instances/..%2Faccount%3Fx%3D1%23y"
