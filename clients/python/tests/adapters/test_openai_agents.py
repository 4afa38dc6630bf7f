"""OpenAI Agents SDK: functions of the user, errors of tools, hidden tools, handoffs, MCP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    ModelSettings,
    RunConfig,
    Runner,
    Tool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    WebSearchTool,
    function_tool,
)
from agents.mcp import MCPServer
from agents.models.interface import ModelProvider
from agents.testing import ScriptedModel
from mcp_types import CallToolResult, TextContent
from mcp_types import Tool as MCPTool

from both_clients import KEY
from identity_engine import AsyncAgent, AsyncIdentityEngine, ToolMode, ToolPolicy
from identity_engine.openai_agents import IdentityModelProvider, with_identity
from openai_agents_driver import UNTRACED, OpenAIAgentsDriver, model_of
from scenario import BASE, MODES, POLICY, PROMPT, Call, Play, Played, Seen, function, service, steps
from test_guard import INSTANCE

DRIVER = OpenAIAgentsDriver()
BOTH = [Call("send_email", "1"), Call("look_up", "2")]
OTHER = "inst_fedcba9876543210"


def raising(_: str) -> str:
    raise ValueError("no result")


def run(agent: Agent[Any], config: RunConfig = UNTRACED, **policy: Any) -> Played:
    """Runs an agent in a turn."""
    played = Played()

    async def turn(base_url: str) -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url, attempts_max=1) as client:
            tools = ToolPolicy(**{"actions": POLICY, **policy})
            made = AsyncAgent(client.instance(INSTANCE), tools=tools)
            async with made.turn("run", 1) as turn:
                ran = await Runner.run(agent, "hello", context={"turn": turn}, run_config=config)
                played.output = str(ran.final_output)

    with service() as server:
        try:
            asyncio.run(turn(server.base_url))
        except Exception as error:
            played.error = error
        played.requests = list(server.requests)
    return played


def recorded(script: Any, seen: list[Seen]) -> ScriptedModel:
    def recording(given: Seen) -> Any:
        seen.append(given)
        return script(given)

    return model_of(recording)


# Instructions and tools of the user.


@pytest.mark.parametrize("is_async", [False, True])
def test_instructions_may_be_a_function(is_async: bool) -> None:
    given: list[Any] = []

    def instructions(context: Any, agent: Any) -> str:
        given.append((context.context["turn"], agent.name))
        return f"Step {len(given)}."

    async def instructions_later(context: Any, agent: Any) -> str:
        return instructions(context, agent)

    options = {"instructions": instructions_later if is_async else instructions}
    play = Play(steps([Call("look_up", "1")], "done"), options=options)
    played = play.run(DRIVER, "run")
    assert [seen.instructions for seen in played.seen] == [
        f"Step 1.\n\n{PROMPT}",
        f"Step 2.\n\n{PROMPT}",
    ]
    assert [name for _, name in given] == ["Ada", "Ada"]


def test_an_agent_without_instructions_gets_the_prompt() -> None:
    played = Play(steps("done"), options={"instructions": None}).run(DRIVER, "run")
    assert [seen.instructions for seen in played.seen] == [PROMPT]


def test_the_given_agent_stays_unchanged_and_a_clone_keeps_the_identity() -> None:
    tool = function_tool(function("send_email", str))
    seen: list[Seen] = []
    model = recorded(steps([Call("send_email", "1")], "done"), seen)
    agent: Agent[Any] = Agent("Ada", instructions=BASE, tools=[tool], model=model)
    clone = with_identity(agent).clone(instructions="Other.")
    assert (agent.tools, agent.model, tool.tool_input_guardrails) == ([tool], model, None)
    assert type(agent) is Agent
    run(clone)
    assert [each.instructions for each in seen] == [f"Other.\n\n{PROMPT}"] * 2
    assert "was not run" in seen[1].results["1"]


def test_is_enabled_and_guardrails_of_the_user_still_apply() -> None:
    given: list[Any] = []

    def is_enabled(context: Any, agent: Any) -> bool:
        given.append((type(context).__name__, agent.name))
        return False

    def reject(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content(f"no {data.context.tool_name}")

    tools: list[Tool] = [
        function_tool(function("read_file", str), is_enabled=is_enabled),
        function_tool(function("look_up", str), tool_input_guardrails=[ToolInputGuardrail(reject)]),
        function_tool(function("send_email", str)),
    ]
    seen: list[Seen] = []
    model = recorded(steps(BOTH, "done"), seen)
    played = run(with_identity(Agent("Ada", tools=tools, model=model)), mode="hide")
    assert played.error is None
    assert [list(each.tools) for each in seen] == [["look_up"]] * 2
    assert given[0] == ("RunContextWrapper", "Ada")
    assert seen[1].results["2"] == "no look_up"
    assert "send_email was not run" in seen[1].results["1"]


def test_a_refused_call_reaches_no_guardrail_of_the_user() -> None:
    asked: list[str] = []

    def allow(data: Any) -> ToolGuardrailFunctionOutput:
        asked.append(data.context.tool_name)
        return ToolGuardrailFunctionOutput.allow()

    guardrails: list[ToolInputGuardrail[Any]] = [ToolInputGuardrail(allow)]
    tools: list[Tool] = [
        function_tool(function(name, str), tool_input_guardrails=guardrails) for name in POLICY
    ]
    run(with_identity(Agent("Ada", tools=tools, model=model_of(steps(BOTH, "done")))))
    assert asked == ["look_up"]


def test_a_tool_that_the_user_disables_before_the_call_does_not_run() -> None:
    answers = [True, False]
    ran: list[str] = []
    tool = function_tool(function("look_up", ran.append), is_enabled=lambda *_: answers.pop(0))
    model = model_of(steps([Call("look_up", "1")]))
    played = run(with_identity(Agent("Ada", tools=[tool], model=model)))
    assert "currently disabled" in str(played.error)
    assert ran == []


def test_an_error_in_a_function_of_the_user_reaches_the_caller() -> None:
    error = KeyError("broken")

    def broken(*_: Any) -> bool:
        raise error

    tool = function_tool(function("look_up", str), is_enabled=broken)
    agent: Agent[Any] = Agent("Ada", tools=[tool], model=model_of(steps()))
    assert run(with_identity(agent)).error is error


# Errors of tools.


async def hanging(_: str) -> str:
    await asyncio.Event().wait()
    return ""


async def invoke_badly(*_: Any) -> str:
    raise ValueError("no result")


PLAIN = FunctionTool("look_up", "Looks.", {"type": "object"}, invoke_badly, False)


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        pytest.param(
            function_tool(function("look_up", raising)), "An error occurred", id="default"
        ),
        pytest.param(
            function_tool(
                function("look_up", raising),
                failure_error_function=lambda _, error: f"sorry: {error}",
            ),
            "sorry: no result",
            id="function",
        ),
        pytest.param(
            function_tool(function("look_up", hanging), timeout=0.01), "timed out", id="timeout"
        ),
    ],
)
def test_an_error_of_a_tool_is_noted_although_the_run_goes_on(tool: Any, answer: str) -> None:
    seen: list[Seen] = []
    model = recorded(steps([Call("look_up", "1")], "done"), seen)
    played = run(with_identity(Agent("Ada", tools=[tool], model=model)))
    assert played.error is None
    assert answer in seen[1].results["1"]
    assert [each.json["signal_strength"] for each in played.observed] == [0.5]


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(
            function_tool(function("look_up", raising), failure_error_function=None), id="none"
        ),
        pytest.param(PLAIN, id="plain"),
    ],
)
def test_a_tool_that_raises_ends_the_run_as_failed(tool: Any) -> None:
    model = model_of(steps([Call("look_up", "1")]))
    played = run(with_identity(Agent("Ada", tools=[tool], model=model)))
    assert played.error is not None
    assert isinstance(played.error.__cause__, ValueError)
    assert [each.json["signal_strength"] for each in played.observed] == [0.9]


def test_two_failed_calls_are_more_stress() -> None:
    tool = function_tool(function("look_up", raising))
    model = model_of(steps([Call("look_up", "1"), Call("look_up", "2")], "done"))
    played = run(with_identity(Agent("Ada", tools=[tool], model=model)))
    assert [each.json["signal_strength"] for each in played.observed] == [0.7]


# Hidden tools.


class Provider(ModelProvider):
    """Finds one model by its name."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.is_closed = False

    def get_model(self, model_name: str | None) -> Any:
        assert model_name == "scripted"
        return self.model

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("wrapped", "visible"), [(True, ["look_up"]), (False, ["send_email", "look_up"])]
)
def test_a_model_with_a_name_needs_a_provider_to_hide_tools(
    wrapped: bool, visible: list[str]
) -> None:
    """Without the provider, the tool is still refused."""
    seen: list[Seen] = []
    provider: ModelProvider = Provider(recorded(steps(BOTH, "done"), seen))
    if wrapped:
        provider = IdentityModelProvider(provider)
    tools = [function_tool(function(name, str)) for name in POLICY]
    agent = with_identity(Agent("Ada", tools=list(tools), model="scripted"))
    config = RunConfig(model_provider=provider, tracing_disabled=True)
    played = run(agent, config, mode="hide")
    assert played.error is None
    assert [list(each.tools) for each in seen] == [visible] * 2
    assert "send_email was not run" in seen[1].results["1"]


def test_the_provider_closes_the_provider_inside() -> None:
    inner = Provider(model_of(steps()))
    asyncio.run(IdentityModelProvider(inner).aclose())
    assert inner.is_closed


def test_a_model_that_hides_tools_keeps_its_own_methods() -> None:
    class Own(ScriptedModel):
        region = "eu"

        def get_retry_advice(self, request: Any) -> Any:
            return request

    made: Any = IdentityModelProvider(Provider(Own())).get_model("scripted")
    assert (made.get_retry_advice("advice"), made.region) == ("advice", "eu")


def test_a_handoff_may_be_required_although_every_tool_is_hidden() -> None:
    seen: list[Seen] = []
    model = recorded(steps("done"), seen)
    agent: Agent[Any] = Agent(
        "Ada",
        tools=[function_tool(function("send_email", str))],
        handoffs=[Agent("Bob")],
        model=model,
        model_settings=ModelSettings(tool_choice="required"),
    )
    run(with_identity(agent), mode="hide")
    assert [(list(each.tools), each.tool_choice) for each in seen] == [([], "required")]


@pytest.mark.parametrize("mode", MODES)
def test_a_forbidden_tool_of_the_provider_is_left_out(mode: ToolMode) -> None:
    """Nobody can refuse a call that the provider runs."""
    seen: list[Seen] = []
    tools: list[Tool] = [WebSearchTool(), function_tool(function("look_up", str))]
    model = recorded(steps("done"), seen)
    agent = with_identity(Agent("Ada", tools=tools, model=model))
    run(agent, actions={"web_search": "explore"}, mode=mode)
    left = ["web_search"] if mode == "observe" else []
    assert [list(each.tools) for each in seen] == [[*left, "look_up"]]


@pytest.mark.parametrize(
    ("choice", "actions", "expected"),
    [
        ("required", POLICY, "required"),
        ("send_email", POLICY, None),
        ("look_up", POLICY, "look_up"),
        ("required", {"send_email": "execute", "look_up": "explore"}, None),
    ],
)
def test_a_hidden_tool_is_not_forced(choice: str, actions: Any, expected: str | None) -> None:
    options = {"model_settings": ModelSettings(tool_choice=choice)}
    play = Play(steps("done"), policy={"mode": "hide", "actions": actions}, options=options)
    played = play.run(DRIVER, "run")
    assert [seen.tool_choice for seen in played.seen] == [expected]


# Several agents, approvals, MCP.


async def in_two_turns(base_url: str, agent: Agent[Any]) -> None:
    async with AsyncIdentityEngine(api_key=KEY, base_url=base_url, attempts_max=1) as client:
        one, two = (
            AsyncAgent(client.instance(id), tools=ToolPolicy(POLICY)) for id in (INSTANCE, OTHER)
        )
        async with one.turn("run", "a") as first, two.turn("run", "b") as second:
            context = {"turn": first, "second": second}
            await Runner.run(agent, "hello", context=context, run_config=UNTRACED)


@pytest.mark.parametrize("has_identity", [True, False])
def test_an_agent_after_a_handoff_has_its_own_turn_or_none(has_identity: bool) -> None:
    seen: dict[str, list[Seen]] = {"a": [], "b": []}
    look_up = function_tool(function("look_up", str))
    b: Agent[Any] = Agent(
        "B",
        instructions="You are Bob.",
        tools=[look_up],
        model=recorded(steps([Call("look_up", "3")], "done"), seen["b"]),
    )
    if has_identity:
        b = with_identity(b, turn_of=lambda context: context["second"])
    script = steps([Call("look_up", "1")], [Call("transfer_to_b", "2")])
    model = recorded(script, seen["a"])
    a: Agent[Any] = Agent("A", instructions=BASE, tools=[look_up], handoffs=[b], model=model)
    with service() as server:
        asyncio.run(in_two_turns(server.base_url, with_identity(a)))
        observed = [each for each in server.requests if each.path.endswith("process")]
    expected = ["You are Bob." + (f"\n\n{PROMPT}" if has_identity else "")] * 2
    assert [each.instructions for each in seen["b"]] == expected
    assert [each.instructions for each in seen["a"]] == [f"{BASE}\n\n{PROMPT}"] * 2
    assert sorted(each.headers["idempotency-key"] for each in observed) == (
        ["turn:run:a", "turn:run:b"] if has_identity else ["turn:run:a"]
    )


def test_an_agent_as_a_tool_has_its_own_turn_and_can_be_refused() -> None:
    seen: dict[str, list[Seen]] = {"parent": [], "child": []}
    child: Agent[Any] = Agent(
        "Child",
        instructions="You are Bob.",
        tools=[function_tool(function("look_up", str))],
        model=recorded(steps([Call("look_up", "1")], "found"), seen["child"]),
    )
    child = with_identity(child, turn_of=lambda context: context["second"])
    tools = [child.as_tool(name, "Asks.") for name in ("ask_child", "send_email")]
    names = {"1": "ask_child", "2": "send_email"}
    calls = [Call(name, id, {"input": "Who?"}) for id, name in names.items()]
    model = recorded(steps(calls, "done"), seen["parent"])
    parent = with_identity(Agent("Parent", instructions=BASE, tools=list(tools), model=model))
    with service() as server:
        asyncio.run(in_two_turns(server.base_url, parent))
        observed = [each for each in server.requests if each.path.endswith("process")]
    assert seen["child"][0].instructions == f"You are Bob.\n\n{PROMPT}"
    assert len(seen["child"]) == 2
    assert seen["parent"][1].results["1"] == "found"
    assert "send_email was not run" in seen["parent"][1].results["2"]
    assert [each.headers["idempotency-key"] for each in observed] == ["turn:run:b"]


@pytest.mark.parametrize("mode", ["refuse", "hide"])
def test_an_approval_does_not_run_a_forbidden_tool(mode: ToolMode) -> None:
    """The contract of the resumed turn decides."""
    ran: list[str] = []
    tool = function_tool(function("send_email", ran.append), needs_approval=True)
    seen: list[Seen] = []
    model = recorded(steps([Call("send_email", "1")], "done"), seen)
    agent = with_identity(Agent("Ada", tools=[tool], model=model))

    async def turns(base_url: str) -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url, attempts_max=1) as client:
            free = AsyncAgent(client.instance(INSTANCE))
            async with free.turn("run", 1) as turn:
                context = {"turn": turn}
                ran = await Runner.run(agent, "hello", context=context, run_config=UNTRACED)
            state = ran.to_state()
            state.approve(ran.interruptions[0])
            strict = AsyncAgent(client.instance(INSTANCE), tools=ToolPolicy(POLICY, mode=mode))
            async with strict.turn("run", 1) as turn:
                context["turn"] = turn
                await Runner.run(agent, state, run_config=UNTRACED)

    with service() as server:
        asyncio.run(turns(server.base_url))
    assert ran == []
    assert "send_email was not run" in seen[-1].results["1"]


class Server(MCPServer):
    """A server in this process with the tools of the policy."""

    def __init__(self, ran: list[str]) -> None:
        super().__init__()
        self.ran = ran

    @property
    def name(self) -> str:
        return "tools"

    async def connect(self) -> None: ...

    async def cleanup(self) -> None: ...

    async def list_tools(self, *_: Any, **__: Any) -> list[MCPTool]:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        return [MCPTool(name=name, input_schema=schema) for name in POLICY]

    async def call_tool(self, tool_name: str, *_: Any, **__: Any) -> CallToolResult:
        self.ran.append(tool_name)
        return CallToolResult(content=[TextContent(type="text", text="found")])

    async def list_prompts(self) -> Any: ...

    async def get_prompt(self, *_: Any, **__: Any) -> Any: ...


@pytest.mark.parametrize("mode", ["refuse", "hide"])
def test_tools_of_an_mcp_server_are_refused_and_hidden(mode: str) -> None:
    server = Server([])
    seen: list[Seen] = []
    model = recorded(steps(BOTH, "done"), seen)
    played = run(with_identity(Agent("Ada", mcp_servers=[server], model=model)), mode=mode)
    assert played.error is None
    assert [list(each.tools) for each in seen] == [
        ["look_up"] if mode == "hide" else list(POLICY)
    ] * 2
    assert server.ran == ["look_up"]
    assert "send_email was not run" in seen[1].results["1"]
    assert played.modes == ["PERCEPTION"]
