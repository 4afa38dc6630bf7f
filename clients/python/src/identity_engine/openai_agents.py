"""Gives an agent of the OpenAI Agents SDK the character of an instance.

    agent = with_identity(Agent(name="Ada", instructions="…", tools=[…]))
    async with ada.turn("conversation-7", 12) as turn:
        await Runner.run(agent, "Hello", context={"turn": turn})

Needs ``pip install "identity-engine[openai-agents]"``.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar, cast

from identity_engine._agent.appraiser import ToolOutcome
from identity_engine._run_context import TurnOf, TurnReader, WithoutTurn, turn_in

try:
    from agents import (
        Agent,
        FunctionTool,
        Model,
        RunContextWrapper,
        Tool,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolInputGuardrailData,
    )
    from agents.tool_context import ToolContext

    from identity_engine._hiding_model import HidingModel, IdentityModelProvider, hidden
except ImportError as error:
    remedy = 'install the OpenAI Agents SDK: pip install "identity-engine[openai-agents]"'
    raise ImportError(remedy) from error

__all__ = ["IdentityModelProvider", "with_identity"]

C = TypeVar("C")
Invoke = Callable[[ToolContext[Any], str], Awaitable[Any]]


def with_identity(
    agent: Agent[C], *, turn_of: TurnOf = turn_in, without_turn: WithoutTurn = "raise"
) -> Agent[C]:
    """Returns a copy of an agent that adds the prompt of the turn and refuses forbidden tools.

    In mode ``hide``, the copy hides tools if ``agent.model`` is a ``Model``. If ``agent.model`` is
    a name, use ``RunConfig(model_provider=IdentityModelProvider())``.

    Args:
        agent: An agent of the SDK. Agents of handoffs need copies of their own.
        turn_of: Returns the turn from the context of a run. By default, the turn is the context
            itself, or its key or attribute ``turn``. All agents of a run share the context.
        without_turn: A run without a turn raises ``ConfigurationError``; with ``pass``, the run is
            unchanged.
    """
    reader = TurnReader(turn_of, without_turn, 'pass context={"turn": turn}')

    def refuse(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        turn = reader.turn(data.context.context)
        text = None if turn is None else turn.refusal_of(data.context.tool_name)
        output = ToolGuardrailFunctionOutput
        return output.allow() if text is None else output.reject_content(text)

    extra = {"reader": reader, "guardrail": ToolInputGuardrail(refuse, "identity_engine")}
    made = cast("_IdentityAgent", copy.copy(agent))
    made.__class__ = type(type(agent).__name__, (_IdentityAgent, type(agent)), extra)
    made.tools = [made.guarded(tool) for tool in agent.tools]
    made.model = HidingModel(agent.model) if isinstance(agent.model, Model) else agent.model
    return made


class _IdentityAgent(Agent[Any]):
    reader: ClassVar[TurnReader]
    guardrail: ClassVar[ToolInputGuardrail[Any]]

    async def get_system_prompt(self, run_context: RunContextWrapper[Any]) -> str | None:
        before = await super().get_system_prompt(run_context)
        turn = self.reader.turn(run_context.context)
        text = "" if turn is None else turn.prompt
        return "\n\n".join([before, text]) if before and text else before or text or None

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        tools = [self.guarded(tool) for tool in await super().get_all_tools(run_context)]
        turn = self.reader.turn(run_context.context)
        if turn is None:
            return tools
        offered = turn.offered(tool.name for tool in tools)
        # The SDK refuses only calls of function tools. Other forbidden tools are left out.
        listed = [
            each for each in tools if isinstance(each, FunctionTool) or turn.permits(each.name)
        ]
        return [each if each.name in offered else hidden(each) for each in listed]

    def guarded(self, tool: Tool) -> Tool:
        """Returns a copy of a function tool that refuses calls and notes outcomes."""
        guardrails = getattr(tool, "tool_input_guardrails", None) or []
        if not isinstance(tool, FunctionTool) or self.guardrail in guardrails:
            return tool
        copied = copy.copy(tool)
        copied.tool_input_guardrails = [self.guardrail, *guardrails]
        # The SDK's own invoker turns errors into texts. The function inside raises the errors.
        invoker = copy.copy(copied.on_invoke_tool)
        inner: Invoke | None = getattr(invoker, "_invoke_tool_impl", None)
        if inner is None:
            copied.on_invoke_tool = self.noting(tool.name, invoker)
        else:
            vars(invoker)["_invoke_tool_impl"] = self.noting(tool.name, inner)
            copied.on_invoke_tool = invoker
        return copied

    def noting(self, name: str, invoke: Invoke) -> Invoke:
        @functools.wraps(invoke)
        async def noted(context: ToolContext[Any], arguments: str) -> Any:
            turn = self.reader.turn(context.context)
            outcome: ToolOutcome = "error"
            try:
                result = await invoke(context, arguments)
                outcome = "ok"
                return result
            finally:
                if turn is not None:
                    turn.used(name, outcome)

        return noted
