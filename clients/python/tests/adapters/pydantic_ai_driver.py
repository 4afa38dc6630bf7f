"""Runs agents of Pydantic AI."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from both_clients import Kind
from identity_engine.pydantic_ai import Identity
from scenario import BASE, Body, Script, Seen, Step, function


class PydanticAIDriver:
    name = "pydantic-ai"
    entries: Mapping[str, Kind] = {
        "run_sync": "sync",
        "run_stream_sync": "sync",
        "run": "async",
        "run_stream": "async",
        "iter": "async",
        "run_stream_events": "async",
    }
    streaming = frozenset({"run_stream_sync", "run_stream", "run_stream_events"})

    def agent(self, script: Script, tools: Mapping[str, Body], **options: Any) -> Any:
        identity = options.pop("identity", {})
        capabilities = [*options.pop("capabilities", []), Identity(**identity)]
        made = [Tool(function(name, body)) for name, body in tools.items()]
        given = {"instructions": BASE, "tools": made, **options}
        return Agent(model_of(script), capabilities=capabilities, **given)

    def run(self, entry: str, agent: Any, context: Any, text: str, stop: bool) -> str:
        if entry == "run_sync":
            return str(agent.run_sync(text, deps=context).output)
        result = agent.run_stream_sync(text, deps=context)
        for piece in result.stream_text(debounce_by=None):
            if stop:
                return str(piece)
        return str(result.get_output())

    async def arun(self, entry: str, agent: Any, context: Any, text: str, stop: bool) -> str:
        if entry == "run":
            return str((await agent.run(text, deps=context)).output)
        if entry == "run_stream":
            async with agent.run_stream(text, deps=context) as stream:
                async for piece in stream.stream_text(debounce_by=None):
                    if stop:
                        return str(piece)
                return str(await stream.get_output())
        if entry == "iter":
            async with agent.iter(text, deps=context) as run:
                async for _ in run:
                    pass
                return str(run.result.output)
        async with agent.run_stream_events(text, deps=context) as events:
            async for event in events:
                if stop and is_text(event):
                    return "stopped"
            return str(event.result.output)


def is_text(event: Any) -> bool:
    if isinstance(event, PartStartEvent):
        return isinstance(event.part, TextPart)
    return isinstance(event, PartDeltaEvent) and hasattr(event.delta, "content_delta")


def model_of(script: Script) -> FunctionModel:
    """The framework's fake model, with a script."""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = await step_of(script, messages, info)
        if isinstance(step, str):
            return ModelResponse([TextPart(step)])
        return ModelResponse(
            [ToolCallPart(call.tool, dict(call.arguments), call.id) for call in step]
        )

    async def stream(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        step = await step_of(script, messages, info)
        if isinstance(step, str):
            for word in step.split():
                yield word
            return
        for at, call in enumerate(step):
            yield {at: DeltaToolCall(call.tool, json.dumps(call.arguments), tool_call_id=call.id)}

    return FunctionModel(answer, stream_function=stream)


async def step_of(script: Script, messages: list[ModelMessage], info: AgentInfo) -> Step:
    step = script(seen_in(messages, info))
    return await step if inspect.isawaitable(step) else step


def seen_in(messages: list[ModelMessage], info: AgentInfo) -> Seen:
    parts = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    return Seen(
        info.instructions or "",
        [tool.name for tool in info.function_tools],
        {
            part.tool_call_id: str(part.content)
            for part in parts
            if isinstance(part, ToolReturnPart)
        },
        [str(part.content) for part in parts if isinstance(part, UserPromptPart)][-1],
        (info.model_settings or {}).get("tool_choice"),
    )
