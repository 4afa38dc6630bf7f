"""Options of every call: extra headers, application name, raw headers, any path, the log."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import (
    ConfigurationError,
    Headers,
    IdentityEngine,
    NotModified,
    __version__,
    errors,
)
from identity_engine._core import attempt_log
from wire_server import LIMITS, Reply, data, refusal, script, serving

ACCOUNT: Any = refusal(404, "not_found")
"""An answer to a call whose outcome does not matter."""

PAGE = b'{"data": [], "pagination": {"total": 2, "has_more": true, "next_cursor": "c"}}'
LAST_PAGE = b'{"data": [], "pagination": {"total": 2, "has_more": false, "next_cursor": null}}'
INSTANCE = "inst_0123456789abcdef"
OBSERVATION = {"mode_target": "ORDER", "signal_strength": 0.5, "context": {"of": "a user"}}


def test_extra_headers_of_client_and_view(kind: Kind) -> None:
    given = {"X-Game": "a", "X-Team": "red"}
    with serving(script(ACCOUNT)) as server:
        with client_of(kind, server.base_url, headers=given) as client:
            view = client.with_headers({"x-game": "b"}).with_headers({"X-Step": "7"})
            raised(view.account.get)
            raised(client.account.get)
            raised(partial(view.instance(INSTANCE).process, OBSERVATION))
    names = ("x-game", "x-team", "x-step")
    sent = [[request.headers.get(name) for name in names] for request in server.requests]
    assert sent == [["b", "red", "7"], ["a", "red", None], ["b", "red", "7"]]
    assert server.requests[2].headers["content-type"] == "application/json"


def test_extra_headers_are_sent_in_every_attempt_and_for_every_page(kind: Kind) -> None:
    answers = script("close", Reply(200, LIMITS, PAGE), Reply(200, LIMITS, LAST_PAGE))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        assert list(client.with_headers({"x-game": "a"}).instances.iterate()) == []
    assert [request.headers["x-game"] for request in server.requests] == ["a", "a", "a"]


def test_view_shares_the_connections(kind: Kind) -> None:
    with serving(script(ACCOUNT)) as server, client_of(kind, server.base_url) as client:
        raised(client.account.get)
        view = client.with_headers({"x-game": "a"})
        raised(view.account.get)
        assert server.connections == 1
        assert view.base_url == client.base_url
        view.close() if kind == "sync" else view.aclose()
        assert isinstance(raised(client.account.get), errors.ClientClosedError)


OWN = {
    "Authorization": "use the option api_key",
    "USER-AGENT": "use the option application",
    "idempotency-key": "use the option idempotency_key",
    "If-Match": "use the option if_match",
    "if-none-match": "use the option if_none_match",
    "Prefer": "use the option strict",
    "x-request-id": "use the option request_id",
    "last-event-id": "use the option after",
    "traceparent": "register an OpenTelemetry propagator",
    "proxy-authorization": "put the password into the proxy's address",
    "accept": "the client sets this header itself",
    "content-type": "the client sets this header itself",
    "content-length": "the client sets this header itself",
    "host": "the client sets this header itself",
    "connection": "the client sets this header itself",
    "transfer-encoding": "the client sets this header itself",
}


@pytest.mark.parametrize("name", OWN)
def test_headers_of_the_client_cannot_be_replaced(name: str) -> None:
    text = f"^{name} is no extra header: {OWN[name]}"
    with pytest.raises(ConfigurationError, match=text):
        IdentityEngine(api_key=KEY, headers={name: "1"})
    with IdentityEngine(api_key=KEY) as client, pytest.raises(ConfigurationError, match=text):
        client.with_headers({name: "1"})


INVALID: list[dict[Any, Any]] = [
    *({"": "a"}, {"x y": "a"}, {"x\r\nhost": "a"}, {"x\n": "a"}, {"x:": "a"}, {"schlüssel": "a"}),
    *(
        {"x": ""},
        {"x": " a"},
        {"x": "a\r\nhost: b"},
        {"x": "a\n"},
        {"x": "ä"},
        {"x": 1},
        {b"x": "a"},
    ),
    {"X-Game": "a", "x-game": "b"},
]


@pytest.mark.parametrize("headers", INVALID, ids=repr)
def test_invalid_extra_headers_are_refused(headers: dict[Any, Any]) -> None:
    with pytest.raises(ConfigurationError):
        IdentityEngine(api_key=KEY, headers=headers)


def test_results_and_errors_have_all_headers(kind: Kind) -> None:
    answers = script(data({"x": 1}, X_Served_By="edge-7"), Reply(304, {**LIMITS, "etag": '"v"'}))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        result = client.request("GET", "/later")
        again = client.request("GET", "/later", if_none_match='"v"')
    assert result.headers["x-served-BY"] == "edge-7"
    assert result.headers.get("absent") is None
    assert {*result.headers} >= {"x-served-by", "x-request-id", "x-monthly-remaining"}
    assert len(result.headers) == len(list(result.headers))
    assert isinstance(again, NotModified)
    assert again.headers["ETag"] == '"v"'
    refused = Reply(404, {**LIMITS, "Via": "1.1 edge"}, b'{"error": "not_found", "message": ""}')
    with serving(script(refused)) as server, client_of(kind, server.base_url) as client:
        error = raised(client.account.get)
    assert isinstance(error, errors.NotFoundError)
    assert error.headers["via"] == "1.1 edge"
    assert pickle.loads(pickle.dumps(error)).headers == error.headers


def test_delete_that_found_no_instance_has_the_headers_of_the_refusal(kind: Kind) -> None:
    gone = Reply(404, {**LIMITS, "Via": "1.1 edge"}, b'{"error": "not_found", "message": ""}')
    with serving(script("close", gone)) as server, client_of(kind, server.base_url) as client:
        assert client.instances.delete(INSTANCE).headers["via"] == "1.1 edge"


def test_headers_are_read_only_and_no_part_of_equality() -> None:
    headers = Headers({"X-Of-It": "a"})
    with pytest.raises(TypeError):
        headers["x-of-it"] = "b"  # type: ignore[index]
    assert "x-of-it" in repr(headers)
    assert copy.deepcopy(headers) == headers == {"x-of-it": "a"}


def test_results_with_other_headers_are_equal(kind: Kind) -> None:
    answers = script(data({}, X_Served_By="edge-7"), data({}, X_Served_By="edge-8"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        first, second = client.request("GET", "/a"), client.request("GET", "/a")
    assert first.headers != second.headers
    assert first == second
    assert "edge-7" not in repr(first)


def test_application_follows_the_name_of_the_client(kind: Kind) -> None:
    name = "my-game/2.1 engine"
    with serving(script(ACCOUNT)) as server:
        with client_of(kind, server.base_url, application=name) as client:
            raised(client.account.get)
    agent = server.requests[0].headers["user-agent"]
    assert agent == f"identity-engine-python/{__version__} my-game/2.1 engine"


NAMES = ["", " a", "a ", "a  b", "a/", "/2", "a/1/2", "a(b)", "ä", "a\n", "a" * 201]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_invalid_application_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"application must be a name like my-game/2\.1"):
        IdentityEngine(api_key=KEY, application=name)


LOGGED = """
import sys
from identity_engine import IdentityEngine, IdentityEngineError
with IdentityEngine(timeout_s=5) as client:
    client.request("POST", "/later", body={"password": "of a user"})
    try:
        client.instances.list(search="secret")
    except IdentityEngineError:
        pass
IdentityEngine().close()
"""
FAILED = [
    "identity_engine: POST /later, attempt 1: 503 service_unavailable overloaded",
    "identity_engine: GET /instances, attempt 1: MalformedAnswerError: answer 404",
]
SUCCEEDED = "identity_engine: POST /later, attempt 2: 200, after "


@pytest.mark.parametrize(
    ("level", "setup", "lines"),
    [
        ("warn", "", FAILED),
        ("debug", "", [FAILED[0], SUCCEEDED, FAILED[1]]),
        # With logging configured by the application, each line appears once, in its format.
        (
            "warn",
            "import logging; logging.basicConfig(format='own %(levelname)s %(message)s')",
            ["own WARNING POST /later, attempt 1: 503", "own WARNING GET /instances, attempt 1"],
        ),
        (None, "import logging; logging.basicConfig()", []),
    ],
)
def test_level_of_the_log_comes_from_the_environment(
    level: str | None, setup: str, lines: list[str]
) -> None:
    overloaded = refusal(503, "service_unavailable", reason="overloaded")
    answers = script(overloaded, data({}), Reply(404, {}, b"<html>"))
    with serving(answers) as server:
        own = {"IDENTITY_ENGINE_API_KEY": KEY, "IDENTITY_ENGINE_BASE_URL": server.base_url}
        env = {**os.environ, **own}
        env.pop("IDENTITY_ENGINE_LOG", None)
        if level is not None:
            env["IDENTITY_ENGINE_LOG"] = level
        command = [sys.executable, "-c", setup + LOGGED]
        ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    for line, begin in zip(ran.stderr.splitlines(), lines, strict=True):
        assert line.startswith(begin)
    for secret in ("svc_sk", "password", "of a user", "secret", "<html>"):
        assert secret not in ran.stderr
    assert ran.stdout == ""


def test_empty_level_of_the_log_is_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENTITY_ENGINE_LOG", "")
    IdentityEngine(api_key=KEY).close()
    assert attempt_log.LOGGER.handlers == []


def test_another_level_of_the_log_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENTITY_ENGINE_LOG", "verbose")
    text = "IDENTITY_ENGINE_LOG must be debug or warn, not 'verbose'"
    with pytest.raises(ConfigurationError, match=text):
        IdentityEngine(api_key=KEY)
    assert attempt_log.LOGGER.handlers == []
