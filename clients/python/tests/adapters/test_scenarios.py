"""The same scenarios with each framework and each way to run an agent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from identity_engine import errors
from identity_engine.models import Contract
from scenario import BASE, POLICY, PROMPT, SECRET, Call, Driver, Play, Seen, Step, steps
from test_agent import AWAY
from test_guard import contract

WITH_PROMPT = f"{BASE}\n\n{PROMPT}"
BOTH = [Call("send_email", "1"), Call("look_up", "2")]


def test_a_forbidden_call_is_answered_and_never_runs(driver: Driver, entry: str) -> None:
    """Three steps with two calls each give one observation, without arguments of calls."""
    played = Play(
        steps(
            [Call("send_email", "a1"), Call("look_up", "a2")],
            [Call("look_up", "b1"), Call("send_email", "b2")],
            [Call("look_up", "c1"), Call("look_up", "c2")],
            "done",
        )
    ).run(driver, entry)
    assert (played.error, played.reported) == (None, [])
    assert played.ran == ["look_up"] * 4
    assert [seen.tools for seen in played.seen] == [list(POLICY)] * 4
    assert [seen.instructions for seen in played.seen] == [WITH_PROMPT] * 4
    results = played.seen[-1].results
    assert set(results) == {"a1", "a2", "b1", "b2", "c1", "c2"}
    assert "The tool send_email was not run" in results["a1"]
    assert results["b2"] == results["a1"]
    assert results["a2"] == "look_up done"
    assert played.modes == ["PERCEPTION"]
    assert played.observed[0].headers["idempotency-key"] == "turn:run:1"
    assert SECRET.encode() not in b"".join(request.body for request in played.requests)


def test_the_run_returns_its_output(driver: Driver, entry: str) -> None:
    played = Play(steps("done")).run(driver, entry)
    assert played.error is None
    assert played.output == ("" if entry in ("stream", "astream") else "done")
    assert played.observed == []


def test_a_hidden_tool_is_refused_if_the_model_calls_it_anyway(driver: Driver, entry: str) -> None:
    """Three times: a refusal uses up no retries of the run."""
    calls = [[Call("send_email", str(at)), Call("look_up", f"l{at}")] for at in range(3)]
    played = Play(steps(*calls, "done"), policy={"mode": "hide"}).run(driver, entry)
    assert played.error is None
    assert [seen.tools for seen in played.seen] == [["look_up"]] * 4
    assert played.ran == ["look_up"] * 3
    results = played.seen[-1].results
    assert len(results) == 6
    assert {results[str(at)] for at in range(3)} == {results["0"]}
    assert "The tool send_email was not run" in results["0"]
    assert played.modes == ["PERCEPTION"]


def test_a_model_may_see_no_tool_at_all(driver: Driver, entry: str) -> None:
    policy = {"mode": "hide", "actions": {"send_email": "execute", "look_up": "explore"}}
    played = Play(steps("done"), policy=policy).run(driver, entry)
    assert played.error is None
    assert [seen.tools for seen in played.seen] == [[]]


def test_mode_observe_permits_every_call(driver: Driver, entry: str) -> None:
    played = Play(steps(BOTH, "done"), policy={"mode": "observe"}).run(driver, entry)
    assert sorted(played.ran) == ["look_up", "send_email"]
    assert played.modes == ["ORDER"]


@pytest.mark.parametrize("mode", ["refuse", "hide"])
def test_a_contract_that_changes_in_a_run_applies_at_once(
    driver: Driver, entry: str, mode: str
) -> None:
    changed = Contract.model_validate(contract("clarify"))

    def look_up(_: str) -> str:
        play.agent._guard.update(changed)
        return "found"

    script = steps([Call("look_up", "1")], [Call("look_up", "2"), Call("send_email", "3")], "done")
    play = Play(script, tools={"look_up": look_up}, policy={"mode": mode})
    played = play.run(driver, entry)
    assert played.error is None
    prompts = [PROMPT, changed.as_prompt(), changed.as_prompt()]
    assert [seen.instructions for seen in played.seen] == [f"{BASE}\n\n{text}" for text in prompts]
    hidden = [["look_up"], ["send_email"], ["send_email"]]
    assert [seen.tools for seen in played.seen] == (
        hidden if mode == "hide" else [list(POLICY)] * 3
    )
    assert played.ran == ["look_up", "send_email"]
    assert "The tool look_up was not run" in played.seen[-1].results["2"]


def test_a_tool_outside_the_map_is_refused_if_the_policy_says_so(
    driver: Driver, entry: str
) -> None:
    policy = {"unmapped": "refuse", "actions": {"look_up": "clarify"}}
    played = Play(steps(BOTH, "done"), policy=policy).run(driver, entry)
    assert played.ran == ["look_up"]
    assert "The tool send_email was not run" in played.seen[-1].results["1"]


def test_an_error_of_the_model_reaches_the_caller_and_counts_once(
    driver: Driver, entry: str
) -> None:
    error = RuntimeError("no answer")
    played = Play(steps([Call("look_up", "1")], error)).run(driver, entry)
    assert played.error is error
    assert played.modes == ["STRESS_RESPONSE"]
    assert played.observed[0].json["signal_strength"] == 0.9


class RateLimitError(Exception):
    status_code = 429


def test_a_provider_that_refuses_the_call_is_no_stress(driver: Driver, entry: str) -> None:
    error = RateLimitError()
    played = Play(steps([Call("look_up", "1")], error)).run(driver, entry)
    assert played.error is error
    assert played.observed == []


@pytest.mark.streaming
def test_a_consumer_may_leave_the_stream(driver: Driver, entry: str) -> None:
    """The tools that ran count once."""
    played = Play(steps([Call("look_up", "1")], "one two"), stop=True).run(driver, entry)
    assert played.error is None
    assert len(played.seen) == 2
    assert played.modes == ["PERCEPTION"]


@pytest.mark.on_loop
def test_a_cancelled_run_is_not_observed(driver: Driver, entry: str) -> None:
    waiting = asyncio.Event()
    answers = steps([Call("look_up", "1")])

    async def script(seen: Seen) -> Step:
        if seen.results:
            waiting.set()
            await asyncio.Event().wait()
        step = answers(seen)
        assert not isinstance(step, asyncio.Future)
        return step  # type: ignore[return-value]

    played = Play(script, cancel=waiting).run(driver, entry)
    assert isinstance(played.error, asyncio.CancelledError)
    assert played.ran == ["look_up"]
    assert played.observed == []


@pytest.mark.on_loop
def test_tools_may_be_coroutines(driver: Driver, entry: str) -> None:
    async def look_up(_: str) -> str:
        await asyncio.sleep(0)
        return "found"

    played = Play(steps(BOTH, "done"), tools={"look_up": look_up}).run(driver, entry)
    assert played.seen[-1].results["2"] == "found"
    assert played.modes == ["PERCEPTION"]


def test_a_run_without_the_service_is_unchanged(driver: Driver, entry: str) -> None:
    played = Play(steps(BOTH, "done"), base_url=AWAY).run(driver, entry)
    assert played.error is None
    assert [seen.instructions for seen in played.seen] == [BASE, BASE]
    assert [seen.tools for seen in played.seen] == [list(POLICY)] * 2
    assert sorted(played.ran) == ["look_up", "send_email"]
    assert {type(error) for error in played.reported} == {errors.ConnectionError}


def test_a_run_without_a_turn_is_an_error(driver: Driver, entry: str) -> None:
    played = Play(steps("done"), context=lambda _: {}).run(driver, entry)
    assert isinstance(played.error, errors.ConfigurationError)
    assert str(played.error).startswith("the run has no turn: pass ")
    assert played.seen == []


def test_a_run_without_a_turn_is_unchanged_if_no_turn_is_required(
    driver: Driver, entry: str
) -> None:
    options = {"identity": {"without_turn": "pass"}}
    play = Play(steps(BOTH, "done"), context=lambda _: None, options=options)
    played = play.run(driver, entry)
    assert played.error is None
    assert [seen.instructions for seen in played.seen] == [BASE, BASE]
    assert sorted(played.ran) == ["look_up", "send_email"]
    assert played.observed == []


@dataclass
class Context:
    turn: Any


@pytest.mark.parametrize(
    ("context", "identity"),
    [
        pytest.param(lambda turn: turn, {}, id="turn"),
        pytest.param(Context, {}, id="attribute"),
        pytest.param(
            lambda turn: {"ada": turn}, {"turn_of": lambda given: given["ada"]}, id="function"
        ),
    ],
)
def test_the_turn_may_be_anywhere_in_the_context(
    driver: Driver, entry: str, context: Any, identity: dict[str, Any]
) -> None:
    play = Play(steps("done"), context=context, options={"identity": identity})
    assert play.run(driver, entry).seen[0].instructions == WITH_PROMPT


def test_a_block_instead_of_its_turn_is_an_error(driver: Driver, entry: str) -> None:
    play = Play(steps("done"), context=lambda turn: {"turn": turn._agent.turn("run", 2)})
    played = play.run(driver, entry)
    assert isinstance(played.error, errors.ConfigurationError)
    assert "turn must be an AgentTurn" in str(played.error)


def test_an_unknown_treatment_of_a_run_without_a_turn_is_refused(driver: Driver) -> None:
    with pytest.raises(errors.ConfigurationError, match="without_turn must be raise or pass"):
        driver.agent(steps(), {}, identity={"without_turn": "ignore"})


def test_a_turn_without_a_contract_refuses_and_hides_if_told_so(driver: Driver, entry: str) -> None:
    play = Play(
        steps(BOTH, "done"),
        tools={"read_file": lambda _: "text"},
        policy={"mode": "hide"},
        agent_options={"unavailable": "closed"},
        base_url=AWAY,
    )
    played = play.run(driver, entry)
    assert played.error is None
    assert [list(seen.tools) for seen in played.seen] == [["read_file"]] * 2
    assert played.ran == []
    assert set(played.seen[1].results) == {"1", "2"}
