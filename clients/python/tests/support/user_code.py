"""User code for type checkers: correct lines, and wrong lines with an ignore comment."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from typing import Any

from typing_extensions import assert_type

from identity_engine import (
    Agent,
    AgentTurn,
    Appraisal,
    AsyncAgent,
    AsyncAgentTurn,
    AsyncIdentityEngine,
    IdentityEngine,
    NotModified,
    Observation,
    ObservationBuffer,
    Observed,
    Page,
    Requested,
    Result,
    Throttled,
    ToolPolicy,
    Turn,
    wording_with,
)
from identity_engine.models import (
    BatchObservation,
    BatchObservationDict,
    BatchProcessed,
    BatchStates,
    HistoryRecord,
    InitialConfigDict,
    Instance,
    ObservationDict,
    Processed,
    TestAnswerDict,
)


def sync_use(client: IdentityEngine) -> None:
    assert_type(client.instances.get("i"), Result[Instance])
    read = client.instances.get("i", if_none_match="e")
    assert_type(read, Result[Instance] | NotModified)
    if isinstance(read, NotModified):
        assert_type(read, NotModified)
    else:
        assert_type(read.data, Instance)
    if read.is_not_modified is True:
        assert_type(read, NotModified)
    else:
        assert_type(read.data, Instance)
    agent = client.instance("i")
    observed = agent.process(Observation(mode_target="ORDER", signal_strength=0.5))
    assert_type(observed, Observed[Processed])
    assert_type(observed.throttled, Throttled | None)
    assert_type(agent.process_batch([{"mode_target": "ORDER"}]), Observed[BatchProcessed])
    assert_type(agent.process_batch([], include_intermediate=True), Observed[BatchStates])
    is_all: bool = observed.is_replayed
    either = agent.process_batch([], include_intermediate=is_all)
    assert_type(either, Observed[BatchProcessed] | Observed[BatchStates])
    assert_type(agent.history(), Page[HistoryRecord])
    assert_type(agent.iterate_history(), Generator[HistoryRecord, None, None])
    for event in agent.events():
        if event.type == "cycle":
            print(event.data)
    state = observed.data.snapshot.stress_state
    print(state == "LOW" or state == "of a later release")
    ObservationBuffer(client).add("i", {"mode_target": "ORDER", "signal_strength": 1})


def use_of_dictionaries(client: IdentityEngine, stored: dict[str, Any]) -> None:
    agent = client.instance("i")
    observation: ObservationDict = {"mode_target": "ORDER", "signal_strength": 0.5}
    keyed: list[BatchObservationDict] = [{**observation, "idempotency_key": "key-1"}]
    models = [BatchObservation(mode_target="ORDER", signal_strength=1)]
    agent.process(observation)
    agent.process(stored)
    agent.process_batch(keyed)
    agent.process_batch(models)
    agent.simulate([observation, stored])
    ObservationBuffer(client).add("i", keyed[0])
    config: InitialConfigDict = {"mode_strengths": {"order": 0.5}}
    client.instances.create("Ada", initial_config=config)
    answers: list[TestAnswerDict] = [{"question_id": "q01", "value": 3}]
    result = client.tests.submit(answers)
    client.instances.create("Ada", initial_config=result.data.initial_config)


def use_of_every_call(client: IdentityEngine) -> None:
    view = client.with_headers({"X-Game": "a"})
    assert_type(view, IdentityEngine)
    requested = view.request("POST", "/later", query={"page": 1}, body={"a": [1]})
    assert_type(requested, Requested[Any])
    assert_type(requested.headers.get("etag"), str | None)
    again = view.request("GET", "/later", if_none_match="e")
    assert_type(again, Requested[Any] | NotModified)


def agent_use(client: IdentityEngine) -> None:
    tools = ToolPolicy({"send_email": "execute", "plan": ["explore", "suggest"], "read": None})
    agent = Agent(client.instance("i"), tools=tools, appraiser=lambda turn: None)
    turn = agent.begin("run", turn=3)
    assert_type(turn, AgentTurn)
    assert_type(turn.refusal_of("send_email"), str | None)
    turn.used("read", "ok")
    turn.end("failed")
    if turn.contract is not None:
        assert_type(turn.contract.as_prompt(wording_with({"actions": {"defer": "x"}})), str)


async def async_agent_use(client: AsyncIdentityEngine) -> None:
    async def appraise(turn: Turn) -> Appraisal | None:
        return Appraisal("ORDER", 0.5, 0.3) if turn.outcome == "completed" else None

    agent = AsyncAgent(client.instance("i"), appraiser=appraise, unavailable="closed")
    turn = await agent.begin("run")
    assert_type(turn, AsyncAgentTurn)
    await turn.end(output="done")


async def async_use(client: AsyncIdentityEngine) -> None:
    assert_type(await client.instances.get("i"), Result[Instance])
    agent = client.instance("i")
    assert_type(agent.iterate_history(), AsyncGenerator[HistoryRecord, None])
    async for record in agent.iterate_history(limit=10):
        print(record.timestamp.isoformat())
    async with aclosing(agent.iterate_drift()) as drifts:
        async for drift in drifts:
            print(drift.drift_level)
    async with agent.events(after=3) as events:
        async for event in events:
            print(event.type)


def wrong_use(client: IdentityEngine) -> None:
    client.instances.create()  # type: ignore[call-arg] # pyright: ignore
    client.instance("i").reset("never")  # type: ignore[arg-type] # pyright: ignore
    client.instance("i").history(limit="10")  # type: ignore[arg-type] # pyright: ignore
    ToolPolicy({"send_email": "exlpore"})  # type: ignore[dict-item] # pyright: ignore
    Agent(client.instance("i")).begin("run").used("x", "no")  # type: ignore[arg-type] # pyright: ignore
    client.request("TRACE", "/later")  # type: ignore[call-overload] # pyright: ignore
    misspelt: ObservationDict = {"mode_target": "ORDR", "signal_strength": 1}  # type: ignore[typeddict-item] # pyright: ignore
    client.instance("i").process(misspelt)
    Observation(mode_target=3, signal_strength=1)  # type: ignore[arg-type] # pyright: ignore
