"""Agents: turns, appraisers, a service that is away, tool policies."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from both_clients import Driven, Kind, client_of, raised
from identity_engine import (
    APPRAISAL_SCHEMA,
    WORDING,
    Agent,
    Appraisal,
    AsyncAgent,
    ToolPolicy,
    Turn,
    checked_appraisal,
    errors,
    outcome_of,
    rule_appraiser,
    wording_with,
)
from identity_engine.models import Contract
from test_guard import INSTANCE, SNAPSHOT, contract, state
from wire_server import Answering, Fault, Reply, Request, WireServer, data, refusal, script, serving

AWAY = "http://127.0.0.1:9/v1"
"""Address on which no service listens."""

WAIT_S_MAX = 10.0
"""Maximum wait of a thread for another thread, in seconds."""

FORBIDDEN = ("execute", "explore")
CONTRACT = Contract.model_validate(contract(*FORBIDDEN))

SET_POINT = {
    "perception": 0.4,
    "exploration": 0.1,
    "order": 0.5,
    "assertion": 0.1,
    "connection": 0.1,
    "identity": 0.1,
    "stress_response": 0,
}
CURRENT = {
    **SNAPSHOT,
    "cycle_count": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
    "set_point": SET_POINT,
}

TOOLS = ToolPolicy(
    {"send_email": "execute", "ask_user": "question", "look_up": "clarify", "read_file": None}
)
NAMES = ["send_email", "ask_user", "look_up", "read_file"]

PERCEPTION = {"mode_target": "PERCEPTION", "signal_strength": 0.48, "confidence": 0.25}
"""Half way between the set-point and the rule for ``clarify``."""

ORDER = Appraisal("ORDER", 0.5, 0.3)

APPLIED = data(state(*FORBIDDEN))


def instance_with(process: Answering) -> Answering:
    """A service with one instance. ``process`` answers observations."""

    def answer(request: Request) -> Reply | Fault:
        match request.path.rsplit("/", 1)[1]:
            case "contract":
                return data(contract(*FORBIDDEN))
            case "snapshot":
                return data(CURRENT)
        return process(request)

    return answer


def agent_of(client: Any, kind: Kind, **options: Any) -> Any:
    handle = client.instance(INSTANCE)._target
    return Driven((Agent if kind == "sync" else AsyncAgent)(handle, **options), client._loop)


@contextmanager
def agent_on(kind: Kind, base_url: str, **options: Any) -> Iterator[tuple[Any, list[Exception]]]:
    """Yields an agent, and the errors that the agent reports."""
    reported: list[Exception] = []
    given = {"tools": TOOLS, "on_error": reported.append, **options}
    with client_of(kind, base_url, attempts_max=1) as client:
        yield agent_of(client, kind, **given), reported


@contextmanager
def serving_agent(
    kind: Kind, *answers: Reply | Fault, **options: Any
) -> Iterator[tuple[WireServer, Any, list[Exception]]]:
    """Yields a server with scripted answers to observations, an agent, and reported errors."""
    with serving(instance_with(script(*(answers or (APPLIED,))))) as server:
        with agent_on(kind, server.base_url, **options) as (agent, reported):
            yield server, agent, reported


def observed(server: WireServer) -> list[Request]:
    return [request for request in server.requests if request.path.endswith("/process")]


def without_time(request: Request) -> dict[str, Any]:
    return {name: value for name, value in request.json.items() if name != "timestamp"}


def unix_s(request: Request) -> float:
    return datetime.fromisoformat(request.json["timestamp"].replace("Z", "+00:00")).timestamp()


def worked(agent: Any, run_id: str) -> Any:
    """Begins a turn that looks something up."""
    turn = agent.begin(run_id)
    turn.used("look_up", "ok")
    return turn


@contextmanager
def ended_meanwhile(turn: Any, sent: threading.Event) -> Iterator[None]:
    """Ends a turn during the block, which starts as soon as the observation is ``sent``."""
    loop = turn._loop
    if loop is None:
        thread = threading.Thread(target=turn.end)
        thread.start()
        assert sent.wait(WAIT_S_MAX)
        yield
        thread.join(WAIT_S_MAX)
        assert not thread.is_alive()
        return
    ending = loop.create_task(turn._target.end())
    loop.run_until_complete(asyncio.to_thread(sent.wait, WAIT_S_MAX))
    yield
    loop.run_until_complete(ending)


def at_once(turns: Sequence[Any], begun: Sequence[threading.Event] = ()) -> None:
    """Ends turns at the same time, in this order. A thread starts after its predecessor's event."""
    loop = turns[0]._loop
    if loop is not None:

        async def ends() -> None:
            await asyncio.gather(*(turn._target.end() for turn in turns))

        loop.run_until_complete(ends())
        return
    threads = [threading.Thread(target=turn.end) for turn in turns]
    for at, thread in enumerate(threads):
        thread.start()
        if at < len(begun):
            assert begun[at].wait(WAIT_S_MAX)
    for thread in threads:
        thread.join(WAIT_S_MAX)
        assert not thread.is_alive()


# A turn of an agent.


def test_turn_has_the_prompt_and_sends_one_observation_half_way_to_the_rule(kind: Kind) -> None:
    with serving_agent(kind) as (server, agent, reported):
        turn = agent.begin("run-1", 3, "secret question")
        assert turn.prompt == CONTRACT.as_prompt()
        assert turn.contract == CONTRACT
        assert turn.offered(NAMES) == NAMES
        assert turn.refusal_of("look_up") is None
        turn.used("look_up", "ok")
        turn.end(output="secret answer")
        turn.end("failed")
        at_once([turn, turn])
        (request,) = observed(server)
    assert reported == []
    assert without_time(request) == PERCEPTION
    assert request.headers["idempotency-key"] == "turn:run-1:3"
    assert b"secret" not in b"".join(each.body for each in server.requests)


def test_turn_ended_by_two_callers_counts_once(kind: Kind) -> None:
    with serving_agent(kind) as (server, agent, reported):
        turn = worked(agent, "a")
        at_once([turn, turn, turn])
        assert [len(observed(server)), reported] == [1, []]


def test_turn_costs_one_request_if_the_contract_is_fresh(kind: Kind) -> None:
    with serving_agent(kind) as (server, agent, _):
        for run_id in ("a", "b", "c"):
            worked(agent, run_id).end()
        ends = [request.path.rsplit("/", 1)[1] for request in server.requests]
        assert ends == ["contract", "snapshot", "process", "process", "process"]


def test_turns_that_end_together_are_sent_in_order_a_second_apart(kind: Kind) -> None:
    """The appraisals end in the opposite order."""
    begun = [threading.Event() for _ in range(3)]
    done = [*(threading.Event() for _ in range(3)), threading.Event()]
    done[3].set()

    def blocking(turn: Turn) -> Appraisal:
        at = int(turn.input or "")
        begun[at].set()
        assert done[at + 1].wait(WAIT_S_MAX)
        done[at].set()
        return ORDER

    async def yielding(turn: Turn) -> Appraisal:
        at = int(turn.input or "")
        while not done[at + 1].is_set():
            await asyncio.sleep(0)
        done[at].set()
        return ORDER

    appraiser = blocking if kind == "sync" else yielding
    with serving_agent(kind, appraiser=appraiser) as (server, agent, reported):
        turns = [agent.begin(run_id, input=str(at)) for at, run_id in enumerate("abc")]
        at_once(turns, begun)
        requests = observed(server)
    assert reported == []
    assert [each.headers["idempotency-key"] for each in requests] == ["turn:a", "turn:b", "turn:c"]
    first, second, third = (unix_s(each) for each in requests)
    assert second - first >= 0.999999
    assert third - second >= 0.999999


def throttled(retry_after: str) -> Reply:
    return data(state(), X_Throttled="true", Retry_After=retry_after)


def test_observation_is_sent_later_if_another_process_was_first(kind: Kind) -> None:
    with serving_agent(kind, throttled("2"), APPLIED) as (server, agent, reported):
        worked(agent, "a").end()
        early, late = observed(server)
        assert reported == []
        assert unix_s(late) - unix_s(early) == pytest.approx(2, abs=0.0001)
        assert early.headers["idempotency-key"] == late.headers["idempotency-key"]


def waits_of(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replaces the agent's waits. Returns the list of their seconds."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    module = f"identity_engine._{kind}.agent"
    monkeypatch.setattr(f"{module}.sleep", waits.append if kind == "sync" else sleep)
    return waits


def test_observation_waits_until_its_timestamp_is_at_most_240_s_ahead(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = waits_of(kind, monkeypatch)
    with serving_agent(kind, throttled("1000"), APPLIED) as (server, agent, _):
        worked(agent, "a").end()
        early, late = observed(server)
    assert unix_s(late) - unix_s(early) == pytest.approx(1000, abs=0.001)
    assert waits == [pytest.approx(760, abs=5)]


def test_observation_is_given_up_after_ten_attempts_at_random_seconds(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.random", lambda: 0.5)
    with serving_agent(kind, throttled("1")) as (server, agent, reported):
        worked(agent, "a").end()
        assert [str(error) for error in reported] == ["the observation was throttled 10 times"]
        at_s = [unix_s(each) for each in observed(server)]
        assert len(at_s) == 10
        steps = [late - early for early, late in pairwise(at_s)]
        assert steps == [pytest.approx(1 + 0.5 * at, abs=0.002) for at in range(9)]
        assert agent._target._outage.resting is None


@pytest.mark.parametrize("outcome", ["aborted", "unavailable"])
def test_turn_that_did_not_run_to_its_end_is_not_observed(kind: Kind, outcome: str) -> None:
    with serving_agent(kind) as (server, agent, reported):
        worked(agent, "a").end(outcome)
        assert [observed(server), reported] == [[], []]


def test_turn_with_only_a_refused_tool_is_not_observed(kind: Kind) -> None:
    with serving_agent(kind) as (server, agent, reported):
        turn = agent.begin("a")
        assert "send_email was not run" in turn.refusal_of("send_email")
        turn.end()
        assert [observed(server), reported] == [[], []]


def test_refusal_is_noted_for_the_appraiser(kind: Kind) -> None:
    seen: list[Turn] = []
    with serving_agent(kind, appraiser=seen.append) as (_, agent, reported):
        turn = agent.begin("a", input="question")
        turn.refusal_of("send_email")
        turn.used("look_up", "error")
        turn.end("failed", "answer")
    (turn_seen,) = seen
    assert reported == []
    assert [(use.tool, use.outcome, use.actions) for use in turn_seen.tools] == [
        ("send_email", "refused", ("execute",)),
        ("look_up", "error", ("clarify",)),
    ]
    assert (turn_seen.outcome, turn_seen.input, turn_seen.output) == (
        "failed",
        "question",
        "answer",
    )
    assert turn_seen.contract == CONTRACT
    assert turn_seen.set_point is not None
    assert turn_seen.set_point.model_dump() == SET_POINT


def test_turn_follows_a_contract_that_another_turn_received(kind: Kind) -> None:
    with serving_agent(kind, data(state("question"))) as (_, agent, _reported):
        first, second = worked(agent, "a"), agent.begin("b")
        assert second.refusal_of("ask_user") is None
        first.end()
        assert second.refusal_of("ask_user") is not None
        assert "Not now: probe with questions." in second.prompt


def test_turn_counts_once_if_an_earlier_attempt_was_counted(kind: Kind) -> None:
    reused = refusal(422, "invalid_request", reason="idempotency_key_reused")
    with serving_agent(kind, reused) as (server, agent, reported):
        worked(agent, "a").end()
        assert [len(observed(server)), reported] == [1, []]


def test_key_that_may_only_read_is_reported_once(kind: Kind) -> None:
    with serving_agent(kind, refusal(403, "forbidden", reason="missing_scope")) as it:
        server, agent, reported = it
        for run_id in ("a", "b", "c"):
            worked(agent, run_id).end()
        assert len(observed(server)) == 1
        (error,) = reported
        assert isinstance(error, errors.ForbiddenError)


def test_set_point_is_read_again_after_a_failed_read(kind: Kind) -> None:
    snapshots = script(refusal(503, "service_unavailable"), data(CURRENT))
    inner = instance_with(script(APPLIED))

    def answer(request: Request) -> Reply | Fault:
        return (snapshots if request.path.endswith("snapshot") else inner)(request)

    with serving(answer) as server, agent_on(kind, server.base_url) as (agent, reported):
        for run_id in ("a", "b", "c"):
            worked(agent, run_id).end()
        strengths = [request.json["signal_strength"] for request in observed(server)]
        assert strengths == [0.6, 0.48, 0.48]
        assert [type(error) for error in reported] == [errors.ServiceUnavailableError]


@pytest.mark.parametrize("run_id", ["", "ä", "a" * 251, "a\n", "a "])
def test_run_id_that_makes_no_key_is_refused(kind: Kind, run_id: str) -> None:
    with serving_agent(kind) as (server, agent, _):
        error = raised(lambda: agent.begin(run_id))
        assert isinstance(error, errors.ConfigurationError)
        assert server.requests == []
        agent.begin("a" * 250)


def test_colon_in_a_run_id_is_no_turn(kind: Kind) -> None:
    with serving_agent(kind) as (server, agent, reported):
        for given in (("a:1", None), ("a", 1), ("a%3A1", None)):
            turn = agent.begin(*given)
            turn.used("look_up", "ok")
            turn.end()
        keys = [each.headers["idempotency-key"] for each in observed(server)]
    assert keys == ["turn:a%3A1", "turn:a:1", "turn:a%253A1"]
    assert reported == []


def test_run_that_ends_twice_without_a_turn_is_reported(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"identity_engine._{kind}.agent.ENDED_RUNS_MAX", 2)
    with serving_agent(kind) as (_, agent, reported):
        agent.begin("a", 1).end()
        agent.begin("a", 1).end()
        agent.begin("a").end()
        assert reported == []
        agent.begin("a").end()
        (error,) = reported
        assert "two turns have the run_id a" in str(error)
        for run_id in ("b", "c", "a"):
            agent.begin(run_id).end()
        assert reported == [error]


def test_cancelled_end_still_observes_the_turn() -> None:
    async def use(agent: AsyncAgent, begun: asyncio.Event, go_on: asyncio.Event) -> None:
        turn = await agent.begin("a")
        end = asyncio.create_task(turn.end())
        await begun.wait()
        end.cancel()
        with pytest.raises(asyncio.CancelledError):
            await end
        go_on.set()
        await turn.end()

    begun, go_on = asyncio.Event(), asyncio.Event()

    async def appraiser(_: Turn) -> Appraisal:
        begun.set()
        await go_on.wait()
        return ORDER

    with serving_agent("async", appraiser=appraiser) as (server, agent, reported):
        agent._loop.run_until_complete(use(agent._target, begun, go_on))
        assert [len(observed(server)), reported] == [1, []]


def test_forked_process_does_not_wait_for_the_ends_of_its_parent() -> None:
    with serving_agent("sync") as (server, agent, reported):
        agent._target._ends.last = threading.Event()
        agent._target._ends.begin_again()
        worked(agent, "a").end()
        assert [len(observed(server)), reported] == [1, []]


# A block around a turn.


def test_a_block_sends_the_observation_before_its_end(kind: Kind) -> None:
    with serving_agent(kind) as (server, agent, _):
        with agent.turn("run") as turn:
            turn.used("look_up", "ok")
        assert len(observed(server)) == 1


def test_a_block_lets_the_error_pass_and_observes_the_failure_once(kind: Kind) -> None:
    with serving_agent(kind) as (server, agent, _):
        error = ValueError("no idea")

        def failing() -> None:
            with agent.turn("run") as turn:
                turn.end("failed", "half")
                raise error

        assert raised(failing) is error
        assert [sent.json["mode_target"] for sent in observed(server)] == ["STRESS_RESPONSE"]


def test_a_block_ends_in_time_although_the_appraiser_hangs(kind: Kind) -> None:
    released = threading.Event()

    def hangs(_: Turn) -> None:
        assert released.wait(WAIT_S_MAX)

    async def hangs_too(turn: Turn) -> None:
        await asyncio.to_thread(hangs, turn)

    appraiser = hangs if kind == "sync" else hangs_too
    with serving_agent(kind, appraiser=appraiser, timeout_s=0.05) as (_, agent, reported):
        with agent.turn("run"):
            pass
        assert not released.is_set()
        released.set()
        agent.flush()
        assert reported == []


def test_a_turn_begins_with_the_contract_after_the_observation_before(kind: Kind) -> None:
    sent = threading.Event()
    freed = threading.Event()

    def slow(_: Request) -> Reply:
        sent.set()
        assert freed.wait(WAIT_S_MAX)
        return data(state("withdraw"))

    with serving(instance_with(slow)) as server, agent_on(kind, server.base_url) as (agent, _):
        turn = worked(agent, "run 1")
        with ended_meanwhile(turn, sent):
            threading.Timer(0.01, freed.set).start()
            assert agent.begin("run 2").contract.forbidden_actions == ["withdraw"]


class APIUserAbortError(Exception):
    pass


class APIConnectionError(Exception):
    pass


class ReadTimeoutError(Exception):
    pass


class OrderCancelledError(Exception):
    pass


class NoConnectionTimeoutsConfigured(Exception):  # noqa: N818
    pass


class Group(Exception):  # noqa: N818
    """A group of errors, as ``ExceptionGroup`` of Python 3.11."""

    def __init__(self, *errors: BaseException) -> None:
        self.exceptions = errors


def botocore(status: int) -> dict[str, object]:
    return {"ResponseMetadata": {"HTTPStatusCode": status}}


def error_with(cause: BaseException | None = None, **attributes: object) -> Exception:
    error = RuntimeError("the run ended")
    vars(error).update(attributes)
    error.__cause__ = cause
    return error


def circular() -> Exception:
    error = error_with()
    error.__cause__ = error
    return error


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (asyncio.CancelledError(), "aborted"),
        (KeyboardInterrupt(), "aborted"),
        (APIUserAbortError(), "aborted"),
        (error_with(asyncio.CancelledError()), "aborted"),
        (error_with(status_code=429), "unavailable"),
        (error_with(error_with(status_code=503)), "unavailable"),
        (APIConnectionError(), "unavailable"),
        (ConnectionRefusedError(), "unavailable"),
        (ReadTimeoutError(), "unavailable"),
        (error_with(code=503), "unavailable"),
        (error_with(code="503"), "failed"),
        (error_with(response=httpx.Response(429)), "unavailable"),
        (error_with(response=httpx.Response(404)), "failed"),
        (error_with(response=botocore(503)), "unavailable"),
        (error_with(response=botocore(400)), "failed"),
        (error_with(response={}), "failed"),
        (Group(ValueError(), error_with(status_code=503)), "unavailable"),
        (Group(error_with(status_code=503), ValueError()), "failed"),
        (Group(Group(asyncio.CancelledError())), "aborted"),
        (Group(), "failed"),
        (error_with(status_code=400), "failed"),
        (error_with(status_code=600), "failed"),
        (OrderCancelledError(), "failed"),
        (NoConnectionTimeoutsConfigured(), "failed"),
        (ValueError("no tool"), "failed"),
        (circular(), "failed"),
    ],
)
def test_the_outcome_of_an_error(error: BaseException, outcome: str) -> None:
    assert outcome_of(error) == outcome


# The appraiser.


def failing(_: Turn) -> Appraisal:
    raise RuntimeError("no model")


@pytest.mark.parametrize(
    "appraiser",
    [
        pytest.param(failing, id="raises"),
        pytest.param(lambda _: {**PERCEPTION, "mode_target": "FOO"}, id="unknown mode"),
        pytest.param(lambda _: Appraisal("ORDER", math.nan, 0.3), id="no number"),
        pytest.param(lambda _: {"mode_target": "ORDER"}, id="lacks a field"),
        pytest.param(lambda _: "ORDER", id="no appraisal"),
    ],
)
def test_rules_apply_with_one_report_if_the_appraiser_fails(
    kind: Kind, appraiser: Callable[[Turn], Any]
) -> None:
    with serving_agent(kind, appraiser=appraiser) as (server, agent, reported):
        worked(agent, "a").end()
        assert len(reported) == 1
        assert [without_time(each) for each in observed(server)] == [PERCEPTION]


def test_rules_apply_with_one_report_if_the_appraiser_never_answers(kind: Kind) -> None:
    release = threading.Event()

    async def hanging(_: Turn) -> None:
        await asyncio.Event().wait()

    appraiser = hanging if kind == "async" else lambda _: release.wait(WAIT_S_MAX)
    options = {"appraiser": appraiser, "appraiser_timeout_s": 0.02}
    with serving_agent(kind, **options) as (server, agent, reported):
        worked(agent, "a").end()
        release.set()
        (error,) = reported
        assert isinstance(error, errors.DeadlineError)
        assert [without_time(each) for each in observed(server)] == [PERCEPTION]


def test_appraiser_may_return_a_mapping_or_nothing(kind: Kind) -> None:
    answers = [{**PERCEPTION, "confidence": 1}, None]
    with serving_agent(kind, appraiser=lambda _: answers.pop(0)) as (server, agent, reported):
        worked(agent, "a").end()
        worked(agent, "b").end()
        assert [without_time(each) for each in observed(server)] == [
            {**PERCEPTION, "confidence": 1}
        ]
        assert reported == []


def test_broken_callback_does_not_end_the_turn(kind: Kind) -> None:
    def broken(_: Exception) -> None:
        raise RuntimeError("broken")

    with serving_agent(kind, appraiser=failing, on_error=broken) as (server, agent, _):
        worked(agent, "a").end()
        assert len(observed(server)) == 1


def test_rows_of_the_caller_replace_the_rules() -> None:
    turn = Turn("failed", [], contract=None, set_point=None)
    appraise = rule_appraiser(
        [{"when": "failed", "mode": "IDENTITY", "strength": 0.2, "confidence": 0.1}]
    )
    assert appraise(turn) == Appraisal("IDENTITY", 0.2, 0.1)
    assert rule_appraiser([])(turn) is None
    row: Any = {"when": "execute", "mode": "ORDER", "strength": 0.2, "confidence": 0.1}
    assert isinstance(raised(lambda: rule_appraiser([row])), errors.ConfigurationError)


@pytest.mark.parametrize("value", [True, -0.1, 1.1, math.nan, "0.5", None])
def test_checked_appraisal_refuses_a_value_outside_0_to_1(value: object) -> None:
    for name in ("signal_strength", "confidence"):
        error = raised(partial(checked_appraisal, {**PERCEPTION, name: value}))
        assert isinstance(error, errors.AppraisalError)
        assert str(error) == f"{name} must be a number from 0 to 1"
    assert set(APPRAISAL_SCHEMA["required"]) == set(PERCEPTION)


# A service that is away.


def test_away_agent_has_no_prompt_and_permits_every_tool(kind: Kind) -> None:
    with agent_on(kind, AWAY) as (agent, reported):
        turn = agent.begin("a")
        assert (turn.prompt, turn.contract) == ("", None)
        assert turn.refusal_of("send_email") is None
        assert len(reported) == 1
        turn.end()


def test_away_closed_agent_refuses_mapped_tools(kind: Kind) -> None:
    with agent_on(kind, AWAY, unavailable="closed") as (agent, _):
        turn = agent.begin("a")
        assert turn.refusal_of("send_email") == WORDING["unknown"].replace("{tool}", "send_email")
        assert turn.refusal_of("read_file") is None
        assert turn.refusal_of("other") is None
    watching = ToolPolicy({"send_email": "execute"}, mode="observe")
    with agent_on(kind, AWAY, unavailable="closed", tools=watching) as (agent, _):
        assert agent.begin("a").refusal_of("send_email") is None


def test_away_closed_agent_hides_mapped_tools_and_notes_nothing_by_that(kind: Kind) -> None:
    seen: list[Turn] = []
    hiding = ToolPolicy({"send_email": "execute"}, mode="hide")
    options = {"unavailable": "closed", "tools": hiding, "appraiser": seen.append}
    with agent_on(kind, AWAY, **options) as (agent, _):
        turn = agent.begin("a")
        assert turn.offered(NAMES) == NAMES[1:]
        assert [turn.permits(name) for name in NAMES[:2]] == [False, True]
        turn.end()
    assert [each.tools for each in seen] == [()]


def test_away_agent_raises_before_the_turn_if_told_so(kind: Kind) -> None:
    with serving(script(refusal(503, "service_unavailable"))) as server:
        with agent_on(kind, server.base_url, unavailable="raise") as (agent, reported):
            error = raised(lambda: agent.begin("a"))
            assert isinstance(error, errors.ServiceUnavailableError)
            assert reported == []


def test_last_contract_applies_until_it_is_too_old(kind: Kind) -> None:
    answers = script(data(contract(*FORBIDDEN)), refusal(503, "service_unavailable"))
    with serving(answers) as server:
        with agent_on(kind, server.base_url, fresh_s=0, unavailable="raise") as (agent, reported):
            agent.begin("a")
            assert agent.begin("b").refusal_of("send_email") is not None
            assert len(reported) == 1
            agent._target._stale_s = 0
            assert isinstance(raised(lambda: agent.begin("c")), errors.ServiceUnavailableError)
        with agent_on(kind, server.base_url, fresh_s=0, stale_s=0) as (agent, _):
            assert agent.begin("c").contract is None


def ends_of(server: WireServer) -> list[str]:
    return [request.path.rsplit("/", 1)[1] for request in server.requests]


def test_after_a_failure_turns_request_nothing_until_the_rest_is_over(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(script(refusal(503, "service_unavailable"))) as server:
        with agent_on(kind, server.base_url) as (agent, reported):
            for run_id in ("a", "b", "c"):
                assert agent.begin(run_id).contract is None
            assert ends_of(server) == ["contract"]
            monkeypatch.setattr(f"identity_engine._{kind}.agent.REST_S", -1)
            agent._target._outage._until_s = 0
            for run_id in ("d", "e"):
                agent.begin(run_id).end()
            assert ends_of(server).count("contract") == 3
            assert [type(error) for error in reported] == [errors.ServiceUnavailableError]


def test_failure_is_reported_again_after_an_answer(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"identity_engine._{kind}.agent.REST_S", -1)
    away = refusal(503, "service_unavailable")
    with serving_agent(kind, away, away, APPLIED, away) as (_, agent, reported):
        for run_id, count in (("a", 1), ("b", 1), ("c", 1), ("d", 2)):
            worked(agent, run_id).end()
            assert len(reported) == count


def test_last_failure_is_raised_again_while_turns_rest(kind: Kind) -> None:
    with serving(script(refusal(503, "service_unavailable"))) as server:
        with agent_on(kind, server.base_url, unavailable="raise") as (agent, reported):
            first, second = (raised(lambda: agent.begin("a")) for _ in range(2))
            assert isinstance(first, errors.ServiceUnavailableError)
            assert second is first
            assert [ends_of(server), reported] == [["contract"], []]


def test_begin_does_not_wait_for_an_observation_while_turns_rest(kind: Kind) -> None:
    sent, freed = threading.Event(), threading.Event()

    def slow(_: Request) -> Reply:
        sent.set()
        assert freed.wait(WAIT_S_MAX)
        return APPLIED

    with serving(instance_with(slow)) as server:
        with agent_on(kind, server.base_url, timeout_s=WAIT_S_MAX) as (agent, _):
            turn = worked(agent, "a")
            with ended_meanwhile(turn, sent):
                agent._target._outage.begin(errors.DeadlineError("away"))
                assert agent.begin("b").contract is not None
                freed.set()


def test_begin_and_end_of_a_block_share_one_timeout(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begin takes the whole time, and the end waits no longer. No failure rests the agent."""
    limits: list[float] = []
    clock = [100.0]
    module = f"identity_engine._{kind}.agent"

    def noted(seconds: float, call: Callable[[], Any]) -> Any:
        limits.append(seconds)
        return call()

    def answer(request: Request) -> Reply | Fault:
        if request.path.endswith("contract"):
            clock[0] += 1.5
        return instance_with(script(APPLIED))(request)

    monkeypatch.setattr(f"{module}.wait_at_most", noted)
    monkeypatch.setattr(
        f"{module}.time", SimpleNamespace(monotonic=lambda: clock[0], time_ns=time.time_ns)
    )
    with serving(answer) as server, agent_on(kind, server.base_url) as (agent, _):
        with agent.turn("a"):
            clock[0] += 60
        agent._target._outage.begin(errors.DeadlineError("away"))
        with agent.turn("b"):
            pass
    assert limits == [0.5, 0.0]


def test_block_does_not_wait_for_a_service_that_never_answers(kind: Kind) -> None:
    freed = threading.Event()

    def hangs(_: Request) -> Reply:
        assert freed.wait(WAIT_S_MAX)
        return APPLIED

    with serving(hangs) as server, agent_on(kind, server.base_url, timeout_s=0.03) as (agent, _):
        with agent.turn("a"):
            pass
        begun_s = time.monotonic()
        for at in range(100):
            with agent.turn("b", at):
                pass
        took_s = time.monotonic() - begun_s
        freed.set()
        agent.flush()
    # 100 waits would take 3 s or more.
    assert took_s < 1.5


def test_tools_that_are_no_policy_are_refused(kind: Kind) -> None:
    with client_of(kind, AWAY) as client:
        error = raised(lambda: agent_of(client, kind, tools={"send_email": "execute"}))
    assert isinstance(error, errors.ConfigurationError)
    assert "ToolPolicy" in str(error)


def test_error_that_no_attempt_mends_is_raised(kind: Kind) -> None:
    with serving(script(refusal(401, "unauthorized"))) as server:
        with agent_on(kind, server.base_url) as (agent, reported):
            assert isinstance(raised(lambda: agent.begin("a")), errors.UnauthorizedError)
        assert reported == []
    with client_of(kind, AWAY) as client:
        agent = agent_of(client, kind)
        client.close() if kind == "sync" else client.aclose()
        assert isinstance(raised(lambda: agent.begin("a")), errors.ClientClosedError)


def test_unknown_policy_for_an_absence_is_refused(kind: Kind) -> None:
    with client_of(kind, AWAY) as client:
        error = raised(lambda: agent_of(client, kind, unavailable="shut"))
    assert isinstance(error, errors.ConfigurationError)


# The tool policy and the wording.


def test_policy_hides_forbidden_tools_only_in_mode_hide() -> None:
    assert TOOLS.offered(NAMES, CONTRACT) == NAMES
    hiding = ToolPolicy({"send_email": ["question", "execute"]}, mode="hide")
    assert hiding.offered(NAMES, CONTRACT) == NAMES[1:]
    assert hiding.offered(NAMES, None) == NAMES
    assert hiding.refusal_of("send_email", CONTRACT) == (
        "The tool send_email was not run, because this is not the time to carry out changes. "
        "Do not call the tool again in this turn. Say so briefly, or offer an alternative."
    )
    watching = ToolPolicy({"send_email": "execute"}, mode="observe")
    assert watching.refusal_of("send_email", CONTRACT) is None


def test_policy_permits_unmapped_tools_unless_told_otherwise() -> None:
    assert TOOLS.refusal_of("other", CONTRACT) is None
    strict = ToolPolicy({"look_up": "clarify"}, unmapped="refuse")
    assert "The tool other was not run" in str(strict.refusal_of("other", CONTRACT))
    assert strict.refusal_of("look_up", CONTRACT) is None


@pytest.mark.parametrize(
    ("actions", "options", "expected"),
    [
        ({"a": "exlpore"}, {}, 'unknown action "exlpore"; did you mean "explore"?'),
        ({"a": ["clarify", "Explore"]}, {}, 'did you mean "explore"?'),
        ({"send_mail": "execute"}, {"tools": ["send_email"]}, 'did you mean "send_email"?'),
        ({"a": "xyz"}, {}, 'unknown action "xyz"; known: explore, question'),
        ({"a": 7}, {}, "unknown action 7"),
        ({}, {"mode": "hidden"}, 'mode must be refuse, hide, observe, not "hidden"'),
        ({}, {"unmapped": "hide"}, "unmapped must be allow, refuse"),
    ],
)
def test_policy_with_an_unknown_name_is_refused(
    actions: Any, options: dict[str, Any], expected: str
) -> None:
    error = raised(lambda: ToolPolicy(actions, **options))
    assert isinstance(error, errors.ToolMapError)
    assert isinstance(error, ValueError)
    assert expected in str(error)


def test_refusal_uses_the_wording_of_the_caller() -> None:
    words = wording_with({"refused": "{tool}: nicht {}.", "actions": {"execute": "handeln"}})
    policy = ToolPolicy({"send_email": "execute"}, wording=words)
    assert policy.refusal_of("send_email", CONTRACT) == "send_email: nicht handeln."


def test_wording_keeps_the_defaults_and_refuses_unknown_parts() -> None:
    words = wording_with({"tired": "müde", "actions": {"clarify": "klären"}})
    assert words["actions"]["explore"] == WORDING["actions"]["explore"]
    assert WORDING["tired"] != "müde"
    assert WORDING["actions"]["clarify"] != "klären"
    for changes, expected in [
        ({"openning": "x"}, 'did you mean "opening"?'),
        ({"actions": "x"}, "must be a mapping"),
        ({"opening": {}}, "must be a text"),
    ]:
        error = raised(partial(wording_with, changes))  # type: ignore[arg-type]
        assert isinstance(error, errors.ConfigurationError)
        assert expected in str(error)
