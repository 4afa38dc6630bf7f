"""Retries: conditions, number and delays, and the errors and events for the caller."""

from __future__ import annotations

import time
from typing import Any

import pytest

from both_clients import Kind, client_of, client_with, raised
from identity_engine import AttemptEvent, errors
from identity_engine._core.attempts import Attempts
from identity_engine._core.call import Repeatable, send
from identity_engine._core.settings import Bounds
from wire_server import Fault, Reply, data, refusal, script, serving

INSTANCE = {"id": "inst_0123456789abcdef", "name": "Ada", "description": ""}
CREATED = {**INSTANCE, "created_at": "2026-01-15T12:00:00.000Z"}
CREATED["updated_at"] = CREATED["created_at"]
UPDATED = {**INSTANCE, "updated_at": "2026-01-15T12:00:00.000Z"}
RENAMED = data(UPDATED)
DELETED = data({"id": INSTANCE["id"], "deleted": True})
PAGE_OF_A_PROXY = Reply(502, {"Content-Type": "text/html"}, b"<html>Bad Gateway</html>")


def unavailable(reason: str) -> Reply:
    return refusal(503, "service_unavailable", retry_after=0, reason=reason)


TRANSIENT: list[Any] = [
    pytest.param("close", id="closed without an answer"),
    pytest.param("reset", id="reset"),
    pytest.param("garbage", id="no HTTP"),
    pytest.param(Reply(200, {}, chunks=(b'{"da',), then="cut"), id="cut in the middle"),
    pytest.param(refusal(408, "invalid_request", reason="request_timeout"), id="408"),
    pytest.param(refusal(429, "rate_limited", retry_after=0), id="429"),
    pytest.param(refusal(500, "internal"), id="500"),
    pytest.param(PAGE_OF_A_PROXY, id="502 of a proxy"),
    pytest.param(unavailable("overloaded"), id="503"),
    pytest.param(unavailable("outcome_unknown"), id="503 outcome unknown"),
    pytest.param(Reply(504, {}, b""), id="504 of a proxy"),
]


@pytest.mark.parametrize("fault", TRANSIENT)
def test_keyed_call_is_retried_byte_for_byte(kind: Kind, fault: Reply | Fault) -> None:
    answers = script(fault, fault, data(CREATED, 201))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        result = client.instances.create("Ada")
    assert result.attempts == 3
    assert len({request.body for request in server.requests}) == 1
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 1


@pytest.mark.parametrize("fault", TRANSIENT)
def test_read_is_retried_and_leaves_no_unknown_outcome(kind: Kind, fault: Reply | Fault) -> None:
    with serving(script(fault)) as server:
        with client_of(kind, server.base_url, attempts_max=3) as client:
            error = raised(lambda: client.account.get())
    assert isinstance(error, errors.IdentityEngineError)
    assert (error.attempts, len(server.requests)) == (3, 3)
    assert error.may_have_happened is False


PERMANENT: list[Any] = [
    refusal(400, "invalid_request", reason="invalid_parameter"),
    refusal(401, "unauthorized"),
    refusal(403, "forbidden", reason="read_only_key"),
    refusal(404, "not_found"),
    refusal(409, "conflict", reason="already_exists"),
    refusal(413, "invalid_request", reason="body_too_large"),
    refusal(422, "invalid_request", reason="out_of_range"),
    refusal(429, "quota_exceeded", retry_after=1),
    refusal(429, "throttled", retry_after=1),
    refusal(418, "of_a_later_release"),
]


@pytest.mark.parametrize("answer", PERMANENT, ids=lambda answer: f"{answer.status} {answer.body!r}")
def test_permanent_refusal_is_not_retried(kind: Kind, answer: Reply) -> None:
    with serving(script(answer)) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.instances.create("Ada"))
    assert isinstance(error, errors.ApiError)
    assert (error.status, error.may_have_happened) == (answer.status, False)
    assert len(server.requests) == 1


NOT_APPLIED: list[Any] = [
    refusal(429, "rate_limited", retry_after=0),
    unavailable("overloaded"),
    unavailable("limiter_unavailable"),
]
OUTCOME_UNKNOWN: list[Any] = [
    "close",
    "reset",
    refusal(500, "internal"),
    unavailable("outcome_unknown"),
    unavailable("deadline_exceeded"),
    unavailable("engine_unavailable"),
    PAGE_OF_A_PROXY,
]


@pytest.mark.parametrize("fault", NOT_APPLIED)
def test_rename_is_retried_if_certainly_nothing_changed(kind: Kind, fault: Reply) -> None:
    with serving(script(fault, RENAMED)) as server, client_of(kind, server.base_url) as client:
        assert client.instances.update(INSTANCE["id"], name="Ada").attempts == 2


@pytest.mark.parametrize("fault", OUTCOME_UNKNOWN)
def test_rename_with_unknown_outcome_is_not_retried(kind: Kind, fault: Reply | Fault) -> None:
    with serving(script(fault, RENAMED)) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.instances.update(INSTANCE["id"], name="Ada"))
    assert isinstance(error, errors.IdentityEngineError)
    assert error.may_have_happened
    assert len(server.requests) == 1


def test_refused_connection_is_retried_even_without_a_key(kind: Kind) -> None:
    with serving(script(RENAMED)) as server:
        address = server.base_url
    with client_of(kind, address, attempts_max=2) as client:
        error = raised(lambda: client.instances.update(INSTANCE["id"], name="Ada"))
    assert isinstance(error, errors.ConnectionError)
    assert (error.attempts, error.may_have_happened) == (2, False)


@pytest.mark.parametrize("fault", OUTCOME_UNKNOWN)
def test_not_found_after_a_delete_with_unknown_outcome_counts_as_deleted(
    kind: Kind, fault: Reply | Fault
) -> None:
    answers = script(fault, refusal(404, "not_found"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        result = client.instances.delete(INSTANCE["id"])
    assert (result.status, result.attempts, result.data.deleted) == (404, 2, True)


def test_not_found_after_a_delete_without_effect_is_an_error(kind: Kind) -> None:
    answers = script(unavailable("overloaded"), refusal(404, "not_found"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.instances.delete(INSTANCE["id"]))
    assert isinstance(error, errors.NotFoundError)


def test_later_refusal_keeps_the_unknown_outcome(kind: Kind) -> None:
    answers = script("close", refusal(401, "unauthorized"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.instances.create("Ada"))
    assert isinstance(error, errors.UnauthorizedError)
    assert error.may_have_happened


@pytest.mark.parametrize("fault", ["silence", "dribble"])
def test_attempt_times_out_and_is_retried(kind: Kind, fault: Fault) -> None:
    answers = script(fault, data(CREATED, 201))
    options: dict[str, Any] = {"attempt_timeout_s": 0.3}
    began_s = time.monotonic()
    with serving(answers) as server, client_of(kind, server.base_url, **options) as client:
        assert client.instances.create("Ada").attempts == 2
        assert time.monotonic() - began_s < 2


def test_endless_body_ends_at_the_attempt_timeout(kind: Kind) -> None:
    endless = Reply(200, {}, chunks=tuple([b" "] * 1_000), then="open", pause_s=0.05)
    options: dict[str, Any] = {"attempt_timeout_s": 0.3, "attempts_max": 1}
    with serving(script(endless)) as server, client_of(kind, server.base_url, **options) as client:
        began_s = time.monotonic()
        error = raised(lambda: client.instances.create("Ada"))
        assert time.monotonic() - began_s < 2
    assert isinstance(error, errors.ConnectionError)
    assert error.may_have_happened


def test_deadline_error_has_the_earlier_error(kind: Kind) -> None:
    answers = script(refusal(500, "internal"), "silence")
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        began_s = time.monotonic()
        error = raised(lambda: client.instances.create("Ada", timeout_s=0.6))
        assert 0.5 < time.monotonic() - began_s < 2
    assert isinstance(error, errors.DeadlineError)
    assert isinstance(error, TimeoutError)
    assert isinstance(error.last_error, errors.InternalServerError)
    assert error.may_have_happened


def test_wait_beyond_the_deadline_is_skipped(kind: Kind) -> None:
    answer = refusal(429, "rate_limited", retry_after=30)
    with serving(script(answer)) as server, client_of(kind, server.base_url) as client:
        began_s = time.monotonic()
        error = raised(lambda: client.account.get(timeout_s=20))
        assert time.monotonic() - began_s < 2
    assert isinstance(error, errors.RateLimitedError)
    assert error.retry_after_s == 30


# Report 18: the error class after a deadline depended on jitter.
@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_deadline_raises_the_same_class_with_any_jitter(
    chance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("identity_engine._core.attempts.random.random", lambda: chance)
    now_s = 0.0
    call = send("POST", "/x", None, Repeatable.ALWAYS)
    attempts = Attempts(call, Bounds(30.0, 10.0, None), now_s)
    while True:
        try:
            attempts.begin(now_s)
        except errors.DeadlineError as late:
            error: errors.IdentityEngineError = late
            break
        now_s += 0.01
        failure = errors.ConnectionError("refused")
        wait_s = attempts.failed(failure, now_s)
        if wait_s is None:
            error = attempts.finished(failure)
            break
        now_s += wait_s
    assert isinstance(error, errors.DeadlineError)
    assert isinstance(error.last_error, errors.ConnectionError)
    assert error.attempts == attempts.count
    assert 29.8 <= now_s <= 30.1


def test_retry_after_until_the_deadline_ends_as_a_deadline_error(kind: Kind) -> None:
    answers = script("close", refusal(429, "rate_limited", retry_after=1))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.account.get(timeout_s=1.001))
    assert isinstance(error, errors.DeadlineError)
    assert isinstance(error.last_error, errors.RateLimitedError)


# Report 18: calls had no attempts_max.
def test_call_can_have_its_own_maximum_of_attempts(kind: Kind) -> None:
    with serving(script(unavailable("overloaded"))) as server:
        with client_of(kind, server.base_url) as client:
            calls = [
                lambda: client.account.get(attempts_max=2),
                lambda: client.instances.create("Ada", attempts_max=2),
                lambda: client.instance(INSTANCE["id"]).snapshot(attempts_max=2),
                lambda: list(client.instances.iterate(attempts_max=2)),
            ]
            for call in calls:
                error = raised(call)
                assert isinstance(error, errors.ServiceUnavailableError)
                assert error.attempts == 2
            assert isinstance(
                raised(lambda: client.account.get(attempts_max=0)), errors.ConfigurationError
            )
            assert isinstance(
                raised(lambda: client.account.get(timeout_s=float("nan"))),
                errors.ConfigurationError,
            )
        assert len(server.requests) == 8


def test_wait_is_never_shorter_than_retry_after(kind: Kind) -> None:
    answers = script(refusal(429, "rate_limited", retry_after=1), data(CREATED, 201))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        client.instances.create("Ada")
    first, second = server.requests
    assert second.at_s - first.at_s >= 1


def test_connections_are_reused(kind: Kind) -> None:
    with serving(script(RENAMED)) as server, client_of(kind, server.base_url) as client:
        for _ in range(5):
            client.instances.update(INSTANCE["id"], name="Ada")
    assert server.connections == 1


def test_every_attempt_is_reported_without_the_key(kind: Kind) -> None:
    seen: list[AttemptEvent] = []
    answers = script("close", unavailable("overloaded"), data(CREATED, 201))
    with serving(answers) as server:
        with client_of(kind, server.base_url, on_attempt=seen.append) as client:
            client.instances.create("Ada", description="a secret")
    assert [event.attempt for event in seen] == [1, 2, 3]
    assert [event.status for event in seen] == [None, 503, 201]
    assert [event.path for event in seen] == ["/instances"] * 3
    assert isinstance(seen[0].error, errors.ConnectionError)
    assert [event.retry_in_s is None for event in seen] == [False, False, True]
    assert all(event.duration_s > 0 for event in seen)
    assert "svc_sk_" not in repr(seen)
    assert "a secret" not in repr(seen)


def test_raising_hook_does_not_affect_calls(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    def hook(_: AttemptEvent) -> None:
        raise RuntimeError("of the hook")

    with serving(script(RENAMED)) as server:
        with client_of(kind, server.base_url, on_attempt=hook) as client:
            client.instances.update(INSTANCE["id"], name="Ada")
    assert "on_attempt raised an error" in caplog.text


MALFORMED: list[Any] = [
    pytest.param(b"<html>", id="no JSON"),
    pytest.param(b"{}", id="no data"),
    pytest.param(b'{"data": {"id": 3}}', id="another form"),
]


@pytest.mark.parametrize("body", MALFORMED)
def test_unreadable_success_leaves_the_outcome_unknown(kind: Kind, body: bytes) -> None:
    answers = script(Reply(201, {"X-Request-Id": "req_of_it"}, body))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.instances.create("Ada"))
    assert isinstance(error, errors.MalformedAnswerError)
    assert (error.status, error.request_id, error.may_have_happened) == (201, "req_of_it", True)


def test_redirect_is_not_followed(kind: Kind) -> None:
    answers = script(Reply(302, {"Location": "/v1/elsewhere"}, b""))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.account.get())
    assert isinstance(error, errors.MalformedAnswerError)
    assert len(server.requests) == 1


def test_redirect_is_not_followed_with_an_http_client_that_follows(kind: Kind) -> None:
    with serving(script(data([]))) as elsewhere:
        answers = script(Reply(307, {"Location": f"{elsewhere.base_url}/account"}, b""))
        with serving(answers) as server:
            with client_with(kind, server.base_url, follow_redirects=True) as client:
                error = raised(lambda: client.account.get())
    assert isinstance(error, errors.MalformedAnswerError)
    assert elsewhere.requests == []
