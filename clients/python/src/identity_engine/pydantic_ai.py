"""Capability that gives an agent of Pydantic AI the character of an instance.

    agent = Agent(model, deps_type=Deps, capabilities=[Identity()])
    async with ada.turn("conversation-7", 12) as turn:
        await agent.run("Hello", deps=Deps(turn=turn))

Needs ``pip install "identity-engine[pydantic-ai]"``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from identity_engine._run_context import TurnOf, TurnReader, WithoutTurn, turn_in

try:
    from pydantic_ai.capabilities import (
        AbstractCapability,
        ValidatedToolArgs,
        WrapToolExecuteHandler,
    )
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.settings import ToolChoice, ToolOrOutput
    from pydantic_ai.tools import (
        AgentDepsT,
        DeferredToolRequests,
        DeferredToolResults,
        RunContext,
        ToolDefinition,
        ToolDenied,
    )
except ImportError as error:
    raise ImportError('install Pydantic AI: pip install "identity-engine[pydantic-ai]"') from error

__all__ = ["Identity"]


@dataclass
class Identity(AbstractCapability[AgentDepsT]):
    """Appends the prompt of the turn, hides and refuses forbidden tools, and notes outcomes.

    In the list of capabilities, place this capability last: then the prompt stands last in the
    instructions.
    """

    turn_of: TurnOf = turn_in
    """Returns the turn from the deps; by default, the deps or their ``turn``."""
    without_turn: WithoutTurn = "raise"
    """A run without a turn raises ``ConfigurationError``; with ``pass``, the run is unchanged."""

    def __post_init__(self) -> None:
        self._reader = TurnReader(self.turn_of, self.without_turn, "pass deps=turn")

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: a file cannot contain the function ``turn_of``."""
        return None

    def get_instructions(self) -> Callable[[RunContext[AgentDepsT]], str | None]:
        """Returns a function that Pydantic AI calls at each request to a model."""

        def prompt(ctx: RunContext[AgentDepsT]) -> str | None:
            turn = self._reader.turn(ctx.deps)
            return None if turn is None else turn.prompt or None

        return prompt

    async def prepare_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Hides tools from the model.

        ``prepare_tools`` would also hide tools from the run: calls of hidden tools would then use
        up the retries of the run, instead of being refused.
        """
        turn = self._reader.turn(ctx.deps)
        if turn is None:
            return request_context
        parameters = request_context.model_request_parameters
        tools = parameters.function_tools
        offered = turn.offered(tool.name for tool in tools)
        visible = [tool for tool in tools if tool.name in offered]
        # Nobody can refuse a call that the provider runs.
        native = [tool for tool in parameters.native_tools if turn.permits(tool.kind)]
        parameters = replace(parameters, function_tools=visible, native_tools=native)
        settings = request_context.model_settings
        if settings is not None and "tool_choice" in settings:
            hidden = {tool.name for tool in tools} - set(offered)
            choice = _possible(settings["tool_choice"], visible, hidden)
            settings = {**settings, "tool_choice": choice}
        return replace(
            request_context, model_request_parameters=parameters, model_settings=settings
        )

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Refuses a call, or runs the tool and notes the outcome."""
        turn = self._reader.turn(ctx.deps)
        if turn is None:
            return await handler(args)
        refusal = turn.refusal_of(call.tool_name)
        if refusal is not None:
            return ToolDenied(refusal)
        try:
            result = await handler(args)
        except (ApprovalRequired, CallDeferred):
            raise
        except Exception:
            turn.used(call.tool_name, "error")
            raise
        turn.used(call.tool_name, "ok")
        return result

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[AgentDepsT], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Refuses forbidden calls that wait for an approval, or that another program runs."""
        turn = self._reader.turn(ctx.deps)
        results = DeferredToolResults()
        if turn is not None:
            for call in [*requests.approvals, *requests.calls]:
                refusal = turn.refusal_of(call.tool_name)
                if refusal is not None and call in requests.approvals:
                    results.approvals[call.tool_call_id] = ToolDenied(refusal)
                elif refusal is not None:
                    results.calls[call.tool_call_id] = refusal
        return results


def _possible(choice: ToolChoice, visible: list[ToolDefinition], hidden: set[str]) -> ToolChoice:
    """Returns a ``tool_choice`` without hidden tools. A model cannot call these tools."""
    if isinstance(choice, ToolOrOutput):
        return ToolOrOutput([name for name in choice.function_tools if name not in hidden])
    if isinstance(choice, list):
        return [name for name in choice if name not in hidden] or None
    return None if choice == "required" and not visible else choice
