"""``client.request``: requests to any path below the base address."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import ConfigurationError, IdentityEngine, Requested, Result, errors
from wire_server import LIMITS, Reply, data, refusal, script, serving


def test_request_has_method_query_body_key_condition_and_headers(kind: Kind) -> None:
    with serving(script(data({"a": 1}))) as server, client_of(kind, server.base_url) as client:
        result: Requested[Any] = client.request(
            "PUT",
            "/later/a%2Fb;c=(1)",
            query={"page": 2, "all": True, "name": "ä&", "none": None},
            body={"deep": [2**70, None]},
            idempotency_key="key-1",
            if_match='"v1"',
            request_id="of-the-caller",
        )
    assert isinstance(result, Result)
    assert (result.data, result.pagination, result.status) == ({"a": 1}, None, 200)
    (request,) = server.requests
    assert request.method == "PUT"
    assert request.target == "/v1/later/a%2Fb;c=(1)?page=2&all=true&name=%C3%A4%26"
    assert request.json == {"deep": [2**70, None]}
    names = ("content-type", "idempotency-key", "if-match", "x-request-id")
    sent = [request.headers[name] for name in names]
    assert sent == ["application/json", "key-1", '"v1"', "of-the-caller"]


def test_request_sends_neither_body_nor_key_by_default_and_accepts_a_204(kind: Kind) -> None:
    with serving(script(Reply(204, LIMITS))) as server, client_of(kind, server.base_url) as client:
        result = client.request("POST", "/later")
    assert (result.status, result.data, result.pagination) == (204, None, None)
    (request,) = server.requests
    assert request.body == b""
    assert not {"idempotency-key", "content-type", "if-match"} & request.headers.keys()


def test_request_returns_the_position_in_a_list(kind: Kind) -> None:
    body = b'{"data": [1], "pagination": {"total": 9, "next_cursor": "c", "of_later": 1}}'
    with serving(script(Reply(200, LIMITS, body))) as server:
        with client_of(kind, server.base_url) as client:
            result = client.request("GET", "/later")
    assert result.data == [1]
    assert result.pagination == {"total": 9, "next_cursor": "c", "of_later": 1}


@pytest.mark.parametrize("body", [b"{}", b'{"data": 1}', b"<html>", b""], ids=repr)
def test_request_refuses_answers_of_another_form(kind: Kind, body: bytes) -> None:
    with serving(script(Reply(200, LIMITS, body))) as server:
        with client_of(kind, server.base_url) as client:
            error = raised(partial(client.request, "POST", "/later"))
    assert isinstance(error, errors.MalformedAnswerError)
    assert error.may_have_happened


RETRIED: list[Any] = [
    ("GET", None, True),
    ("POST", None, False),
    ("DELETE", None, False),
    ("POST", "key-1", True),
    ("PATCH", "key-1", True),
]


@pytest.mark.parametrize(("method", "key", "is_retried"), RETRIED)
def test_request_is_retried_if_safe(
    kind: Kind, method: str, key: str | None, is_retried: bool
) -> None:
    with serving(script("close", data({}))) as server, client_of(kind, server.base_url) as client:
        call = partial(client.request, method, "/a/simulate", idempotency_key=key)
        if is_retried:
            assert call().attempts == 2
        else:
            error = raised(call)
            assert isinstance(error, errors.ConnectionError)
            assert error.may_have_happened
    assert len(server.requests) == (2 if is_retried else 1)


def test_request_without_a_key_is_retried_if_nothing_happened(kind: Kind) -> None:
    overloaded = refusal(503, "service_unavailable", reason="overloaded")
    with serving(script(overloaded, data({}))) as server:
        with client_of(kind, server.base_url) as client:
            assert client.request("POST", "/later").attempts == 2


PATHS = [
    *("", "/", "account", "//evil.test/v1", "/a//b", "/a/", "/v1/account", "/v1", "/a\\b"),
    *("/..", "/../admin", "/a/..", "/a/./b", "/%2e%2E/admin", "/.%2e/admin", "/a/%2E"),
    *("/a?b=1", "/a#b", "/a b", "/a\tb", "/\n/evil.test", "/a\n", "/a\0", "/ä", "/a%", "/a%2"),
    *("/a%zz", "http://evil.test/v1/a", "@evil.test/", ".evil.test/a", ":80/a"),
]


@pytest.mark.parametrize("path", PATHS, ids=repr)
def test_request_sends_no_key_outside_v1(path: str) -> None:
    with serving(script(data({}))) as server:
        with IdentityEngine(api_key=KEY, base_url=server.base_url) as client:
            with pytest.raises(ConfigurationError, match=r"the path (must be|is relative)"):
                client.request("GET", path)
    assert server.requests == []


UNSENDABLE: list[Any] = [
    ("get", {}),
    ("TRACE", {}),
    ("GET", {"body": {}}),
    ("POST", {"body": {"strength": float("nan")}}),
    ("GET", {"query": {"name": "\ud800"}}),
    ("GET", {"query": {"\ud800": "a"}}),
    ("POST", {"idempotency_key": "a\r\nb"}),
]


@pytest.mark.parametrize(("method", "options"), UNSENDABLE, ids=ascii)
def test_invalid_request_is_refused_before_sending(method: Any, options: Any) -> None:
    with serving(script(data({}))) as server:
        with IdentityEngine(api_key=KEY, base_url=server.base_url) as client:
            with pytest.raises(ConfigurationError) as caught:
                client.request(method, "/a", **options)
    assert caught.value.attempts == 0
    assert server.requests == []
