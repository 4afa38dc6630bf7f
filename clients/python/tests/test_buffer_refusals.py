"""Reactions of a buffer to refusals and to foreign answers."""

from __future__ import annotations

import gc
import json
import time
from typing import Any

import pytest

from both_clients import Kind, client_of, raised
from identity_engine import Rejected, UnacknowledgedBatch
from identity_engine._buffer.item import time_ms
from test_buffer import OBSERVATION, ONE, OTHER, buffer_of, processed
from wire_server import LIMITS, Fault, Reply, Request, data, refusal, script, serving


def deep_is_wrong(request: Request) -> Reply:
    """Refuses deep nesting as the service does, without an index."""
    is_wrong = any("deep" in each["context"] for each in request.json["observations"])
    return refusal(422, "invalid_request", reason="too_deep") if is_wrong else processed(request)


def test_refusal_without_an_index_rejects_only_the_invalid_observations(kind: Kind) -> None:
    rejected: list[Rejected] = []
    with serving(deep_is_wrong) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, on_rejected=rejected.append) as buffer:
            for number in range(50):
                name = "deep" if number in (7, 30) else "n"
                buffer.add(ONE, {**OBSERVATION, "context": {name: number}})
            assert buffer.close().acknowledged == 48
    assert [each.observation["context"] for each in rejected] == [{"deep": 7}, {"deep": 30}]


FOREIGN: list[Any] = [
    pytest.param(Reply(404, {}, b"<html>"), id="page"),
    pytest.param(
        Reply(404, {}, b'{"error":"not_found","message":""}'), id="envelope without X-Request-Id"
    ),
    pytest.param(Reply(422, {}, b'{"error":"invalid_request","message":""}'), id="422"),
    pytest.param(Reply(413, {}, b""), id="413"),
    pytest.param(Reply(204, {"X-Request-Id": "req_0123456789abcdef"}, b""), id="204"),
    pytest.param(Reply(304, {"X-Request-Id": "req_0123456789abcdef"}, b""), id="304"),
    pytest.param(data(None), id="no data"),
    pytest.param(data({"data": {}}), id="other data"),
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_foreign_answer_does_not_finish_a_batch(kind: Kind, foreign: Reply) -> None:
    answers: list[Any] = [foreign]

    def answer(request: Request) -> Reply | Fault:
        return answers.pop() if answers else processed(request)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            closed = buffer.close()
    assert (closed.acknowledged, closed.rejected, closed.unacknowledged) == (1, (), ())
    assert len({(each.headers["idempotency-key"], each.body) for each in server.requests}) == 1
    assert len(server.requests) == 2


def test_answer_with_another_count_does_not_finish_a_batch(kind: Kind) -> None:
    answers: list[int] = [1]

    def answer(request: Request) -> Reply:
        whole = processed(request)
        if answers:
            return (
                Reply(200, whole.headers, whole.body.replace(b'count": 3', b'count": 2'))
                if (answers.pop())
                else whole
            )
        return whole

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            for _ in range(3):
                buffer.add(ONE, OBSERVATION)
            assert buffer.close().acknowledged == 3
    assert len(server.requests) == 2


REFUSED_AFTER_ALL = [
    refusal(404, "not_found"),
    refusal(422, "invalid_request", reason="idempotency_key_reused"),
    refusal(409, "conflict", reason="of_a_later_release"),
]


@pytest.mark.parametrize("last", REFUSED_AFTER_ALL, ids=lambda last: str(last.status))
def test_observation_with_unknown_outcome_is_returned_and_not_rejected(
    kind: Kind, last: Reply
) -> None:
    """The buffer continues to send the observations of other instances."""
    refusals: list[Reply | Fault] = ["close", last, last]

    def answer(request: Request) -> Reply | Fault:
        if ONE in request.path:
            return refusals.pop(0)
        time.sleep(0.3)
        return processed(request)

    with serving(answer) as server, client_of(kind, server.base_url, attempts_max=1) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            buffer.add(OTHER, OBSERVATION)
            closed = buffer.close(timeout_s=5)
    assert (closed.acknowledged, closed.rejected) == (1, ())
    (batch,) = closed.unacknowledged
    assert (batch.instance_id, batch.may_have_happened) == (ONE, True)
    keys = [each.headers["idempotency-key"] for each in server.requests if ONE in each.path]
    assert keys == [batch.idempotency_key] * 2


def test_batch_with_a_reused_key_is_returned(kind: Kind) -> None:
    given = UnacknowledgedBatch(
        instance_id=ONE,
        idempotency_key="k",
        observations=({**OBSERVATION, "timestamp": "2026-01-01T00:00:00.000Z"},),
        may_have_happened=False,
        first_sent_at=None,
    )
    reused = refusal(422, "invalid_request", reason="idempotency_key_reused")
    with serving(script(reused)) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.restore([given])
            closed = buffer.close(timeout_s=5)
    assert (closed.rejected, len(closed.unacknowledged)) == ((), 1)


def test_reordered_fields_of_a_stored_batch_do_not_change_its_body(kind: Kind) -> None:
    fields = {"signal_strength": 0.5, "mode_target": "ORDER", "context": {"b": [{"z": 1, "a": 2}]}}
    with serving(script("close")) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, fields)
            (batch,) = buffer.close(timeout_s=0.2).unacknowledged
    stored = json.loads(json.dumps(batch.model_dump(mode="json"), sort_keys=True))
    stored["observations"] = [dict(reversed(each.items())) for each in stored["observations"]]
    with serving(processed) as again, client_of(kind, again.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.restore([UnacknowledgedBatch.model_validate(stored)])
            assert buffer.close().acknowledged == 1
    assert again.requests[0].body == server.requests[0].body


def test_throttled_answer_without_retry_after_does_not_loop(kind: Kind) -> None:
    """The first timestamp moves by a second with each attempt."""

    def answer(request: Request) -> Reply:
        if len(server.requests) < 4:
            body = processed(request).body.replace(b'count": 1', b'count": 0')
            return Reply(200, {**LIMITS, "X-Throttled": "true"}, body)
        return processed(request)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            assert buffer.close().acknowledged == 1
    times = [time_ms(each.json["observations"][0]["timestamp"]) for each in server.requests]
    assert [time - times[0] for time in times] == [0, 1_000, 2_000, 3_000]


def test_rejection_keeps_only_its_own_observation_in_memory(kind: Kind) -> None:
    answers = script(refusal(422, "invalid_request", reason="too_deep"))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            (rejected,) = buffer.close().rejected
    gc.collect()
    error = rejected.error
    assert (error.__traceback__, error.__cause__, error.__context__) == (None, None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {**OBSERVATION, "signal_strength": float("nan")},
        {**OBSERVATION, "context": {"x": float("inf")}},
        {**OBSERVATION, "timestamp": 12},
        {**OBSERVATION, "timestamp": "0001-01-01T00:00:00+14:00"},
        {**OBSERVATION, "timestamp": "2099-01-01T00:00:00Z"},
        {**OBSERVATION, "timestamp": "9999-12-31T23:59:59.999Z"},
        {**OBSERVATION, "context": {"x": "\ud800"}},
        {**OBSERVATION, "context": {"x": object()}},
    ],
    ids=[
        *("null", "array", "NaN", "infinity", "number", "before year 1", "2099", "year 10000"),
        *("half a character", "no JSON"),
    ],
)
def test_add_refuses_an_observation_that_can_never_be_sent(kind: Kind, wrong: Any) -> None:
    with serving(processed) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            assert isinstance(raised(lambda: buffer.add(ONE, wrong)), ValueError)
            buffer.add(ONE, OBSERVATION)
            assert buffer.close(timeout_s=5).acknowledged == 2


def test_observation_too_far_ahead_with_unknown_outcome_keeps_its_key(kind: Kind) -> None:
    """With a new key, the service could also apply the earlier attempt."""
    ahead = refusal(
        422,
        "invalid_request",
        reason="timestamp_in_future",
        field="observations[0].timestamp",
    )
    answers: list[Reply | Fault] = ["close", ahead]

    def answer(request: Request) -> Reply | Fault:
        return answers.pop(0) if answers else processed(request)

    with serving(answer) as server, client_of(kind, server.base_url, attempts_max=1) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            assert buffer.close().acknowledged == 1
    sent = {(each.headers["idempotency-key"], each.body) for each in server.requests}
    assert (len(server.requests), len(sent)) == (3, 1)
