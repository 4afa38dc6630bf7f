"""Pydantic AI: functions of the user, errors of tools, output tools, deferred calls, delegates."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    ExternalToolset,
    ModelRetry,
    RunContext,
    Tool,
    ToolFailed,
    ToolOutput,
)
from pydantic_ai.capabilities import NativeTool, PrepareTools
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.native_tools import CodeExecutionTool, WebSearchTool
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from both_clients import KEY
from identity_engine import AsyncAgent, AsyncIdentityEngine, ToolMode, ToolPolicy
from identity_engine.pydantic_ai import Identity
from pydantic_ai_driver import PydanticAIDriver, model_of
from scenario import BASE, MODES, POLICY, PROMPT, Call, Play, Played, Seen, function, service, steps
from test_guard import INSTANCE

DRIVER = PydanticAIDriver()
BOTH = [Call("send_email", "1"), Call("look_up", "2")]


def run(agent: Any, *runs: dict[str, Any], **policy: Any) -> tuple[Played, list[Any]]:
    """Runs an agent several times in a turn. Returns the results of the runs."""
    played = Played()
    results: list[Any] = []

    async def turn(base_url: str) -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url, attempts_max=1) as client:
            tools = ToolPolicy(**{"actions": POLICY, **policy})
            made = AsyncAgent(client.instance(INSTANCE), tools=tools)
            async with made.turn("run", 1) as turn:
                for options in runs or ({},):
                    results.append(await agent.run("hello", deps=turn, **options))

    with service() as server:
        try:
            asyncio.run(turn(server.base_url))
        except Exception as error:
            played.error = error
        played.requests = list(server.requests)
    return played, results


def recording(script: Any, seen: list[Seen]) -> Any:
    def recorded(given: Seen) -> Any:
        seen.append(given)
        return script(given)

    return model_of(recorded)


def test_the_prompt_is_last_after_instructions_of_the_user() -> None:
    seen: list[Seen] = []
    agent = Agent(recording(steps("done"), seen), instructions=BASE, capabilities=[Identity()])

    @agent.instructions
    def dynamic(ctx: RunContext[Any]) -> str:
        return f"Step {ctx.run_step}."

    run(agent, {"instructions": "Run."})
    assert [each.instructions for each in seen] == [f"{BASE}\n\nRun.\n\nStep 1.\n\n{PROMPT}"]


def test_a_run_with_messages_of_an_earlier_run_has_the_prompt_once() -> None:
    seen: list[Seen] = []
    model = recording(steps([Call("look_up", "1")], "one", "two"), seen)
    tools = [Tool(function("look_up", str))]
    agent = Agent(model, instructions=BASE, tools=tools, capabilities=[Identity()])
    _, (first,) = run(agent)
    run(agent, {"message_history": first.all_messages()})
    assert [each.instructions for each in seen] == [f"{BASE}\n\n{PROMPT}"] * 3


def test_prepare_tools_of_the_user_also_filters_and_still_raises() -> None:
    given: list[list[str]] = []

    async def without_look_up(_: Any, tools: list[ToolDefinition]) -> list[ToolDefinition]:
        given.append([tool.name for tool in tools])
        return [tool for tool in tools if tool.name != "look_up"]

    tools = {"read_file": lambda _: "text"}
    options = {"capabilities": [PrepareTools(without_look_up)]}
    play = Play(steps("done"), tools=tools, policy={"mode": "hide"}, options=options)
    played = play.run(DRIVER, "run")
    assert [list(seen.tools) for seen in played.seen] == [["read_file"]]
    assert given == [["send_email", "look_up", "read_file"]]

    async def broken(*_: Any) -> Any:
        raise KeyError("broken")

    failed = Play(steps(), options={"capabilities": [PrepareTools(broken)]}).run(DRIVER, "run")
    assert isinstance(failed.error, KeyError)


@pytest.mark.parametrize("error", [ModelRetry("again"), ToolFailed("no result")])
def test_an_error_that_the_model_sees_is_noted(error: Exception) -> None:
    def raising(_: str) -> str:
        raise error

    script = steps([Call("look_up", "1")], "done")
    played = Play(script, tools={"look_up": raising}).run(DRIVER, "run")
    assert played.error is None
    assert [each.json["signal_strength"] for each in played.observed] == [0.5]


def test_a_tool_that_raises_ends_the_run_as_failed() -> None:
    def raising(_: str) -> str:
        raise ValueError("no result")

    played = Play(steps([Call("look_up", "1")]), tools={"look_up": raising}).run(DRIVER, "run")
    assert isinstance(played.error, ValueError)
    assert [each.json["signal_strength"] for each in played.observed] == [0.9]


def test_a_refusal_is_a_denied_call_in_the_messages() -> None:
    tools = [Tool(function("send_email", str))]
    model = model_of(steps([Call("send_email", "1")], "done"))
    agent = Agent(model, tools=tools, capabilities=[Identity()])
    _, (result,) = run(agent)
    (part,) = (
        part
        for message in result.all_messages()
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    )
    assert (part.outcome, part.tool_call_id) == ("denied", "1")


class Report(BaseModel):
    """A report."""

    text: str


def test_the_tool_of_an_output_is_never_hidden_or_refused() -> None:
    agent = Agent(
        model_of(steps([Call("report", "1")])),
        output_type=ToolOutput(Report, name="report"),
        capabilities=[Identity()],
    )
    played, (result,) = run(agent, mode="hide", unmapped="refuse")
    assert played.error is None
    assert result.output == Report(text="sk-secret")


@pytest.mark.parametrize(
    ("choice", "actions", "expected"),
    [
        ("required", POLICY, "required"),
        ("required", {"send_email": "execute", "look_up": "explore"}, None),
        (["send_email"], POLICY, None),
        (["send_email", "look_up"], POLICY, ["look_up"]),
        (ToolOrOutput(["send_email", "look_up"]), POLICY, ToolOrOutput(["look_up"])),
        ("auto", POLICY, "auto"),
    ],
)
def test_a_hidden_tool_is_not_forced(choice: Any, actions: Any, expected: Any) -> None:
    options = {"model_settings": lambda _: {"tool_choice": choice}}
    play = Play(steps("done"), policy={"mode": "hide", "actions": actions}, options=options)
    played = play.run(DRIVER, "run")
    assert played.error is None
    assert [seen.tool_choice for seen in played.seen] == [expected]


@pytest.mark.parametrize("mode", MODES)
def test_a_forbidden_tool_of_the_provider_is_left_out(mode: ToolMode) -> None:
    """Nobody can refuse a call that the provider runs."""
    kinds: list[list[str]] = []

    def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        kinds.append([tool.kind for tool in info.model_request_parameters.native_tools])
        return ModelResponse([TextPart("done")])

    native = [NativeTool(WebSearchTool()), NativeTool(CodeExecutionTool())]
    profile = ModelProfile(supported_native_tools=frozenset({WebSearchTool, CodeExecutionTool}))
    model = FunctionModel(answer, profile=profile)
    run(
        Agent(model, capabilities=[*native, Identity()]),
        actions={"web_search": "explore"},
        mode=mode,
    )
    left = ["web_search"] if mode == "observe" else []
    assert kinds == [[*left, "code_execution"]]


def test_a_forbidden_call_does_not_wait_for_an_approval() -> None:
    seen: list[Seen] = []
    tools = [Tool(function(name, str), requires_approval=True) for name in POLICY]
    agent = Agent(
        recording(steps(BOTH, [Call("send_email", "3")], "done"), seen),
        tools=tools,
        output_type=[str, DeferredToolRequests],
        capabilities=[Identity()],
    )
    _, (paused,) = run(agent)
    assert [call.tool_name for call in paused.output.approvals] == ["look_up"]
    given = {
        "message_history": paused.all_messages(),
        "deferred_tool_results": DeferredToolResults(approvals={"2": True}),
    }
    played, (resumed,) = run(agent, given)
    assert resumed.output == "done"
    assert seen[-1].results["2"] == "sk-secret"
    assert "send_email was not run" in seen[-1].results["1"]
    assert seen[-1].results["3"] == seen[-1].results["1"]
    assert played.modes == ["PERCEPTION"]


def test_a_call_approved_before_the_contract_changed_is_refused() -> None:
    ran: list[str] = []
    seen: list[Seen] = []
    agent = Agent(
        recording(steps([Call("send_email", "1")], "done"), seen),
        tools=[Tool(function("send_email", ran.append), requires_approval=True)],
        output_type=[str, DeferredToolRequests],
        capabilities=[Identity()],
    )
    _, (paused,) = run(agent, actions={})
    results = DeferredToolResults(approvals={"1": True})
    run(agent, {"message_history": paused.all_messages(), "deferred_tool_results": results})
    assert ran == []
    assert "send_email was not run" in seen[-1].results["1"]


def test_a_forbidden_call_does_not_reach_another_program() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tools = [ToolDefinition(name=name, parameters_json_schema=schema) for name in POLICY]
    seen: list[Seen] = []
    agent = Agent(
        recording(steps([Call("send_email", "1")], [Call("look_up", "2")]), seen),
        toolsets=[ExternalToolset(tools)],
        output_type=[str, DeferredToolRequests],
        capabilities=[Identity()],
    )
    _, (paused,) = run(agent)
    assert [call.tool_name for call in paused.output.calls] == ["look_up"]
    assert "send_email was not run" in seen[1].results["1"]


def test_a_call_that_the_tool_passes_to_another_program_is_no_error() -> None:
    def deferring(_: str) -> str:
        raise CallDeferred

    agent = Agent(
        model_of(steps([Call("look_up", "1")])),
        tools=[Tool(function("look_up", deferring))],
        output_type=[str, DeferredToolRequests],
        capabilities=[Identity()],
    )
    played, (paused,) = run(agent)
    assert [call.tool_name for call in paused.output.calls] == ["look_up"]
    assert played.observed == []


def test_a_delegate_has_its_own_turn() -> None:
    seen: dict[str, list[Seen]] = {"parent": [], "child": []}
    child = Agent(
        recording(steps([Call("look_up", "1")], "found"), seen["child"]),
        instructions="You are Bob.",
        tools=[Tool(function("look_up", str))],
        capabilities=[Identity()],
    )

    async def ask_child(ctx: RunContext[Any], text: str) -> str:
        async with ctx.deps["child"].turn("run", "b") as turn:
            return str((await child.run(text, deps=turn)).output)

    parent = Agent(
        recording(steps([Call("ask_child", "1")], "done"), seen["parent"]),
        instructions=BASE,
        tools=[Tool(ask_child, takes_ctx=True)],
        capabilities=[Identity()],
    )

    async def both(base_url: str) -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url, attempts_max=1) as client:
            policy = ToolPolicy({**POLICY, "ask_child": "stabilize"})
            one, two = (
                AsyncAgent(client.instance(id), tools=policy)
                for id in (INSTANCE, "inst_fedcba9876543210")
            )
            async with one.turn("run", "a") as turn:
                await parent.run("hello", deps={"turn": turn, "child": two})

    with service() as server:
        asyncio.run(both(server.base_url))
        observed = [each for each in server.requests if each.path.endswith("/process")]
    assert seen["parent"][1].results["1"] == "found"
    assert [each.headers["idempotency-key"] for each in observed] == ["turn:run:b", "turn:run:a"]
    assert [each.json["mode_target"] for each in observed] == ["PERCEPTION", "ORDER"]
