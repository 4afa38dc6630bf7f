"""Middleware that gives an agent of LangChain the character of an instance.

    agent = create_agent(model, tools, middleware=[IdentityMiddleware()])
    with ada.turn("conversation-7", 12) as turn:
        agent.invoke({"messages": messages}, context={"turn": turn})

Needs ``pip install "identity-engine[langchain]"``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from identity_engine._run_context import AnyTurn, TurnOf, TurnReader, WithoutTurn, turn_in

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest
    from langchain.agents.middleware.types import ModelCallResult, ModelResponse, ToolCallRequest
    from langchain_core.messages import SystemMessage, ToolMessage
    from langgraph.errors import GraphBubbleUp
    from langgraph.types import Command
except ImportError as error:
    raise ImportError('install LangChain: pip install "identity-engine[langchain]"') from error

__all__ = ["IdentityMiddleware"]

ToolAnswer = ToolMessage | Command[Any]


class IdentityMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Appends the prompt of the turn, hides and refuses forbidden tools, and notes outcomes.

    In the list of middleware, place this middleware last: then the prompt stands last in the system
    message.

    Args:
        turn_of: Returns the turn from the context of a run. By default, the turn is the context
            itself, or its key or attribute ``turn``.
        without_turn: A run without a turn raises ``ConfigurationError``; with ``pass``, the run is
            unchanged.
    """

    def __init__(self, *, turn_of: TurnOf = turn_in, without_turn: WithoutTurn = "raise") -> None:
        super().__init__()
        self._reader = TurnReader(turn_of, without_turn, 'pass context={"turn": turn}')

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelCallResult[Any]:
        """Adds the prompt to a model call, and hides tools."""
        return handler(self._changed(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """Adds the prompt to a model call, and hides tools."""
        return await handler(self._changed(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolAnswer]
    ) -> ToolAnswer:
        """Refuses a call, or runs the tool and notes the outcome."""
        turn = self._reader.turn(request.runtime.context)
        if turn is None:
            return handler(request)
        answer = _refusal(turn, request)
        if answer is None:
            with _noting(turn, request):
                answer = handler(request)
            _note(turn, request, answer)
        return answer

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolAnswer]]
    ) -> ToolAnswer:
        """Refuses a call, or runs the tool and notes the outcome."""
        turn = self._reader.turn(request.runtime.context)
        if turn is None:
            return await handler(request)
        answer = _refusal(turn, request)
        if answer is None:
            with _noting(turn, request):
                answer = await handler(request)
            _note(turn, request, answer)
        return answer

    def _changed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        turn = self._reader.turn(request.runtime.context)
        if turn is None:
            return request
        names = [_name_of(tool) for tool in request.tools]
        # Nobody can refuse a call that the provider runs. A dict describes a tool of the provider.
        elsewhere = {_name_of(tool) for tool in request.tools if isinstance(tool, dict)}
        offered = turn.offered(names)
        listed = {name for name in offered if name not in elsewhere or turn.permits(name)}
        tools = [tool for tool in request.tools if _name_of(tool) in listed]
        # A model would repeat a forced call that is refused, until the limit of the run.
        permitted, wanted = set(filter(turn.permits, listed)), _name_of(request.tool_choice)
        is_blocked = not permitted if wanted in ("any", "required") else wanted in names
        choice = None if is_blocked and wanted not in permitted else request.tool_choice
        message = _with_text(request.system_message, turn.prompt)
        return request.override(system_message=message, tools=tools, tool_choice=choice)


def _with_text(message: SystemMessage | None, text: str) -> SystemMessage | None:
    """Appends a text as a block of its own, so that the provider can cache the blocks before."""
    if text == "":
        return message
    if message is None or message.content == "":
        return SystemMessage(text)
    before = message.content
    blocks = [{"type": "text", "text": before}] if isinstance(before, str) else before
    return message.model_copy(update={"content": [*blocks, {"type": "text", "text": text}]})


def _name_of(tool: Any) -> str:
    """Name of a tool, of a provider's tool (a dict), or of the tool in a ``tool_choice``."""
    if isinstance(tool, dict):
        function = tool.get("function", tool)
        return str(function.get("name", tool.get("type")))
    return str(getattr(tool, "name", tool))


def _refusal(turn: AnyTurn, request: ToolCallRequest) -> ToolAnswer | None:
    name, id = request.tool_call["name"], request.tool_call["id"]
    text = turn.refusal_of(name)
    return ToolMessage(text, tool_call_id=id, name=name, status="error") if text else None


@contextmanager
def _noting(turn: AnyTurn, request: ToolCallRequest) -> Iterator[None]:
    """Notes an error that ends the run. An interrupt of the graph is no error."""
    try:
        yield
    except GraphBubbleUp:
        raise
    except Exception:
        turn.used(request.tool_call["name"], "error")
        raise


def _note(turn: AnyTurn, request: ToolCallRequest, answer: ToolAnswer) -> None:
    is_error = isinstance(answer, ToolMessage) and answer.status == "error"
    turn.used(request.tool_call["name"], "error" if is_error else "ok")
