"""LangChain: user's middleware, interrupts, structured output, subagents, errors of tools."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelRetryMiddleware,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from both_clients import KEY
from identity_engine import Agent, IdentityEngine, ToolMode, ToolPolicy
from identity_engine.langchain import IdentityMiddleware
from langchain_driver import LangChainDriver, ScriptedChatModel, tool_of
from scenario import BASE, MODES, POLICY, PROMPT, Call, Play, Seen, service, steps
from test_guard import INSTANCE

DRIVER = LangChainDriver()
BOTH = [Call("send_email", "1"), Call("look_up", "2")]


def raising(_: str) -> str:
    raise ValueError("no result")


def test_a_tool_that_raises_ends_the_run_as_failed() -> None:
    played = Play(steps([Call("look_up", "1")]), tools={"look_up": raising}).run(DRIVER, "invoke")
    assert isinstance(played.error, ValueError)
    assert [each.json["signal_strength"] for each in played.observed] == [0.9]


class Answering(AgentMiddleware[Any, Any, Any]):
    """Answers errors of tools with a text. Stands before the identity."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except ValueError:
            return ToolMessage("sorry", tool_call_id=request.tool_call["id"])

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return await handler(request)
        except ValueError:
            return ToolMessage("sorry", tool_call_id=request.tool_call["id"])


@pytest.mark.parametrize("entry", ["invoke", "ainvoke"])
def test_an_error_that_a_middleware_answers_is_an_error_of_the_tool(entry: str) -> None:
    script = steps([Call("look_up", "1")], "done")
    options = {"middleware": [Answering()]}
    played = Play(script, tools={"look_up": raising}, options=options).run(DRIVER, entry)
    assert played.error is None
    assert [each.json["signal_strength"] for each in played.observed] == [0.5]


def test_a_refusal_is_an_error_message() -> None:
    statuses: list[str] = []

    @wrap_tool_call
    def look(request: Any, handler: Any) -> Any:
        answer = handler(request)
        statuses.append(answer.status)
        return answer

    Play(steps(BOTH, "done"), options={"middleware": [look]}).run(DRIVER, "invoke")
    assert sorted(statuses) == ["error", "success"]


def test_invalid_arguments_are_an_error_of_the_tool() -> None:
    @tool
    def look_up(number: int) -> str:
        """Looks something up."""
        return str(number)

    played = run_with([look_up], steps([Call("look_up", "1")], "done"))
    assert [each.json["mode_target"] for each in played] == ["STRESS_RESPONSE"]


def run_with(tools: list[Any], script: Any, **options: Any) -> Any:
    """Runs an agent, and returns the observations."""
    made = create_agent(
        ScriptedChatModel(messages=iter(()), script=script),
        tools,
        system_prompt=BASE,
        middleware=[IdentityMiddleware()],
        **options,
    )
    with (
        service() as server,
        IdentityEngine(api_key=KEY, base_url=server.base_url, attempts_max=1) as client,
    ):
        agent = Agent(client.instance(INSTANCE), tools=ToolPolicy(POLICY))
        with agent.turn("run", 1) as turn:
            made.invoke({"messages": [("user", "hello")]}, context={"turn": turn})
        return [each for each in server.requests if each.path.endswith("/process")]


def test_middleware_of_the_user_also_filters_and_still_raises() -> None:
    requests: list[Any] = []

    @wrap_model_call
    def without_look_up(request: Any, handler: Any) -> Any:
        requests.append(request)
        return handler(
            request.override(tools=[each for each in request.tools if each.name != "look_up"])
        )

    options = {"middleware": [without_look_up]}
    tools = {"read_file": lambda _: "text"}
    played = Play(steps("done"), tools=tools, policy={"mode": "hide"}, options=options).run(
        DRIVER, "invoke"
    )
    assert [list(seen.tools) for seen in played.seen] == [["read_file"]]
    assert [each.name for each in requests[0].tools] == ["send_email", "look_up", "read_file"]

    @wrap_model_call
    def broken(_: Any, __: Any) -> Any:
        raise KeyError("broken")

    failed = Play(steps(), options={"middleware": [broken]}).run(DRIVER, "invoke")
    assert isinstance(failed.error, KeyError)


def test_the_prompt_is_last_after_a_prompt_of_the_user() -> None:
    @dynamic_prompt
    def prompt(_: Any) -> str:
        return "Dynamic."

    played = Play(steps("done"), options={"middleware": [prompt]}).run(DRIVER, "invoke")
    assert [seen.instructions for seen in played.seen] == [f"Dynamic.\n\n{PROMPT}"]


def test_the_prompt_is_a_block_of_its_own_and_keeps_cache_controls() -> None:
    seen: list[Any] = []

    @wrap_model_call
    def look(request: Any, handler: Any) -> Any:
        seen.append(request.system_message.content)
        return handler(request)

    cached = {"type": "text", "text": BASE, "cache_control": {"type": "ephemeral"}}
    message = SystemMessage([cached])
    model = ScriptedChatModel(messages=iter(()), script=steps("done"))
    made = create_agent(model, [], system_prompt=message, middleware=[IdentityMiddleware(), look])
    run_made(made)
    assert seen == [[cached, {"type": "text", "text": PROMPT}]]
    assert message.content == [cached]


def run_made(made: Any, policy: ToolPolicy | None = None) -> None:
    with (
        service() as server,
        IdentityEngine(api_key=KEY, base_url=server.base_url, attempts_max=1) as client,
        Agent(client.instance(INSTANCE), tools=policy).turn("run", 1) as turn,
    ):
        made.invoke({"messages": [("user", "hello")]}, context={"turn": turn})


@pytest.mark.parametrize("instructions", [None, ""])
def test_an_agent_without_instructions_gets_the_prompt(instructions: str | None) -> None:
    options = {"system_prompt": instructions}
    played = Play(steps("done"), options=options).run(DRIVER, "invoke")
    assert [seen.instructions for seen in played.seen] == [PROMPT]


def test_retries_of_the_model_repeat_the_prompt_and_count_once() -> None:
    left = [ConnectionError(), ConnectionError()]
    answers = steps([Call("look_up", "1")], "done")

    def script(seen: Seen) -> Any:
        if left:
            raise left.pop()
        return answers(seen)

    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    played = Play(script, options={"middleware": [retry]}).run(DRIVER, "invoke")
    assert played.error is None
    assert [seen.instructions for seen in played.seen] == [f"{BASE}\n\n{PROMPT}"] * 4
    assert played.modes == ["PERCEPTION"]


class Report(BaseModel):
    """A report."""

    text: str


def test_the_tool_of_a_structured_output_is_never_hidden_or_refused() -> None:
    policy = {"mode": "hide", "unmapped": "refuse"}
    options = {"response_format": ToolStrategy(Report)}
    played = Play(steps([Call("Report", "1")]), policy=policy, options=options).run(
        DRIVER, "invoke"
    )
    assert played.error is None
    assert [list(seen.tools) for seen in played.seen] == [["look_up", "Report"]]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("any", "any"),
        ("send_email", None),
        ({"type": "function", "function": {"name": "send_email"}}, None),
        ({"type": "tool", "name": "look_up"}, {"type": "tool", "name": "look_up"}),
    ],
)
@pytest.mark.parametrize("mode", ["hide", "refuse"])
def test_a_forbidden_tool_is_not_forced(choice: Any, expected: Any, mode: str) -> None:
    @wrap_model_call
    def forcing(request: Any, handler: Any) -> Any:
        return handler(request.override(tool_choice=choice))

    options = {"middleware": [forcing]}
    played = Play(steps("done"), policy={"mode": mode}, options=options).run(DRIVER, "invoke")
    assert [seen.tool_choice for seen in played.seen] == [expected]


@pytest.mark.parametrize("mode", MODES)
def test_a_forbidden_tool_of_the_provider_is_left_out(mode: ToolMode) -> None:
    """Nobody can refuse a call that the provider runs."""
    seen: list[Seen] = []

    def script(given: Seen) -> str:
        seen.append(given)
        return "done"

    made = create_agent(
        ScriptedChatModel(messages=iter(()), script=script),
        [tool_of("look_up", str), {"type": "web_search"}, {"type": "file_search"}],
        middleware=[IdentityMiddleware()],
    )
    run_made(made, ToolPolicy({"web_search": "explore"}, mode=mode))
    left = ["web_search"] if mode == "observe" else []
    assert [list(each.tools) for each in seen] == [["look_up", *left, "file_search"]]


def test_an_interrupted_turn_that_another_process_resumes_counts_once() -> None:
    """The forbidden call is refused before the interrupt, and not again after it."""
    ran: list[str] = []

    @tool
    def look_up(text: str) -> str:
        """Looks something up."""
        ran.append("look_up")
        return f"{interrupt('which one?')} of {text}"

    @tool
    def send_email(text: str) -> str:
        """Sends an email."""
        ran.append(text)
        return text

    saver = InMemorySaver()
    seen: list[Seen] = []

    def script(given: Seen) -> Any:
        seen.append(given)
        return "done" if given.results else BOTH

    refusals: list[str] = []

    def run(given: Any, base_url: str) -> Any:
        model = ScriptedChatModel(messages=iter(()), script=script)
        made: Any = create_agent(
            model, [look_up, send_email], middleware=[IdentityMiddleware()], checkpointer=saver
        )
        with IdentityEngine(api_key=KEY, base_url=base_url, attempts_max=1) as client:
            agent = Agent(client.instance(INSTANCE), tools=ToolPolicy(POLICY))
            with agent.turn("thread", 1) as turn:
                config = {"configurable": {"thread_id": "1"}}
                state = made.invoke(given, config, context={"turn": turn})
            refusals.extend(use.tool for use in turn._tools if use.outcome == "refused")
            return state

    with service() as server:
        paused = run({"messages": [("user", "hello")]}, server.base_url)
        assert [each.value for each in paused["__interrupt__"]] == ["which one?"]
        assert [each.path for each in server.requests if each.path.endswith("process")] == []
        resumed = run(Command(resume="this"), server.base_url)
        observed = [each for each in server.requests if each.path.endswith("process")]
    assert resumed["messages"][-1].text == "done"
    assert ran == ["look_up", "look_up"]
    assert refusals == ["send_email"]
    assert seen[-1].results["2"] == "this of sk-secret"
    assert [each.json["mode_target"] for each in observed] == ["PERCEPTION"]
    assert [each.headers["idempotency-key"] for each in observed] == ["turn:thread:1"]


def test_a_subagent_has_its_own_turn_or_none() -> None:
    """The tool passes the context on, because a subagent does not inherit the context."""
    seen: dict[str, list[Seen]] = {"parent": [], "child": []}

    def child_script(given: Seen) -> Any:
        seen["child"].append(given)
        return "found" if given.results else [Call("look_up", "1")]

    def parent_script(given: Seen) -> Any:
        seen["parent"].append(given)
        return "done" if given.results else [Call("ask_child", "1")]

    child = DRIVER.agent(child_script, {"look_up": str})
    with (
        service() as server,
        IdentityEngine(api_key=KEY, base_url=server.base_url, attempts_max=1) as client,
    ):
        one, two = (
            Agent(client.instance(id), tools=ToolPolicy({**POLICY, "ask_child": "stabilize"}))
            for id in (INSTANCE, "inst_fedcba9876543210")
        )

        def ask_child(text: str) -> str:
            with two.turn("child", 1) as turn:
                return DRIVER.run("invoke", child, {"turn": turn}, text, False)

        parent = DRIVER.agent(parent_script, {"ask_child": ask_child})
        with one.turn("parent", 1) as turn:
            DRIVER.run("invoke", parent, {"turn": turn}, "hello", False)
        observed = [each for each in server.requests if each.path.endswith("process")]
    assert [len(each) for each in seen.values()] == [2, 2]
    assert [(each.path.split("/")[-2], each.json["mode_target"]) for each in observed] == [
        ("inst_fedcba9876543210", "PERCEPTION"),
        (INSTANCE, "ORDER"),
    ]
