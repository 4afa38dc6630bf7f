"""Answers of the service and foreign answers, which a proxy or another server sent."""

from __future__ import annotations

import copy
import logging
import pickle
from typing import Any

import pytest

from both_clients import Kind, client_of, raised
from identity_engine import AttemptEvent, errors
from wire_server import LIMITS, Reply, data, refusal, script, serving

INSTANCE = "inst_0123456789abcdef"
OBSERVATION = {"mode_target": "ORDER", "signal_strength": 0.5}
OF_THE_SERVICE = {"X-Request-Id": "req_0123456789abcdef"}
ENVELOPE = b'{"error":"not_found","message":"no such route"}'

FOREIGN: list[Any] = [
    pytest.param(Reply(204, OF_THE_SERVICE, b""), id="204"),
    pytest.param(Reply(304, OF_THE_SERVICE, b""), id="304"),
    pytest.param(data(None), id="null"),
    pytest.param(Reply(404, {}, ENVELOPE), id="404"),
    pytest.param(Reply(422, {}, b"<html>"), id="422"),
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_foreign_answer_leaves_the_outcome_of_a_change_unknown(kind: Kind, foreign: Reply) -> None:
    with serving(script(foreign)) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.instance(INSTANCE).process(OBSERVATION))
    assert isinstance(error, errors.MalformedAnswerError)
    assert (error.may_have_happened, error.attempts) == (True, 1)


@pytest.mark.parametrize("foreign", [*FOREIGN, Reply(200, OF_THE_SERVICE, b"{}")])
def test_foreign_answer_to_a_read_leaves_no_unknown_outcome(kind: Kind, foreign: Reply) -> None:
    with serving(script(foreign)) as server, client_of(kind, server.base_url) as client:
        error = raised(lambda: client.instance(INSTANCE).contract())
    assert isinstance(error, errors.MalformedAnswerError)
    assert (error.may_have_happened, error.attempts) == (False, 1)


def test_foreign_503_leaves_the_outcome_unknown_despite_its_reason(kind: Kind) -> None:
    body = b'{"error":"service_unavailable","message":"","details":{"reason":"overloaded"}}'
    with serving(script(Reply(503, {}, body))) as server:
        with client_of(kind, server.base_url) as client:
            error = raised(lambda: client.instances.update(INSTANCE, name="Ada"))
    assert isinstance(error, errors.MalformedAnswerError)
    assert error.may_have_happened
    assert len(server.requests) == 1


def test_hook_and_log_receive_no_part_of_a_body(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[AttemptEvent] = []
    answers = script(Reply(502, {}, b"<html>a secret</html>"))
    with caplog.at_level(logging.DEBUG, "identity_engine"), serving(answers) as server:
        with client_of(kind, server.base_url, on_attempt=seen.append, attempts_max=1) as client:
            raised(lambda: client.account.get())
    assert seen[0].status == 502
    assert "a secret" not in repr(seen) + caplog.text


def every_error() -> list[errors.IdentityEngineError]:
    with serving(script(refusal(422, "invalid_request", reason="out_of_range", field="x"))) as one:
        with client_of("sync", one.base_url) as client:
            refused = raised(lambda: client.instances.create("Ada"))
    assert isinstance(refused, errors.InvalidRequestError)
    assert refused.limits.monthly_remaining == int(LIMITS["X-Monthly-Remaining"])
    return [
        refused,
        errors.MalformedAnswerError("m", status=502, request_id="r", retry_after_s=1.0),
        errors.StaleContractError(2.0, 1.0),
        errors.ActionForbiddenError("explore"),
        errors.DeadlineError("late", refused),
        errors.ConnectionError("no answer"),
        errors.ConfigurationError("no key"),
        errors.NoContractError("none"),
    ]


@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_errors_can_be_pickled_and_copied(again: Any) -> None:
    for error in every_error():
        error.may_have_happened = True
        error.attempts = 3
        other = again(error)
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert other.args == error.args
        plain = {k: v for k, v in error.__dict__.items() if k != "last_error"}
        assert {k: v for k, v in other.__dict__.items() if k != "last_error"} == plain
        last = getattr(error, "last_error", None)
        assert str(getattr(other, "last_error", None)) == str(last)
