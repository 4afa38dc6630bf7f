"""Runs agents of the OpenAI Agents SDK."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from both_clients import Kind
from identity_engine.openai_agents import with_identity
from scenario import BASE, Body, Script, Seen, Step, function

UNTRACED = RunConfig(tracing_disabled=True)


class OpenAIAgentsDriver:
    name = "openai-agents"
    entries: Mapping[str, Kind] = {"run_sync": "sync", "run": "async", "run_streamed": "async"}
    streaming = frozenset({"run_streamed"})

    def agent(self, script: Script, tools: Mapping[str, Body], **options: Any) -> Any:
        identity = options.pop("identity", {})
        given = {
            "name": "Ada",
            "instructions": BASE,
            "model": model_of(script),
            "tools": [function_tool(function(name, body)) for name, body in tools.items()],
            **options,
        }
        return with_identity(Agent(**given), **identity)

    def run(self, entry: str, agent: Any, context: Any, text: str, stop: bool) -> str:
        result = Runner.run_sync(agent, text, context=context, run_config=UNTRACED)
        return str(result.final_output)

    async def arun(self, entry: str, agent: Any, context: Any, text: str, stop: bool) -> str:
        if entry == "run":
            ran = await Runner.run(agent, text, context=context, run_config=UNTRACED)
            return str(ran.final_output)
        result = Runner.run_streamed(agent, text, context=context, run_config=UNTRACED)
        async for event in result.stream_events():
            data: Any = event.data if event.type == "raw_response_event" else None
            if stop and data is not None and data.type == "response.output_text.delta":
                result.cancel()
                return str(data.delta)
        return str(result.final_output)


def model_of(script: Script) -> ScriptedModel:
    """The framework's fake model, with a script."""

    async def answer(call: ModelCall) -> Any:
        model.enqueue(ModelStep.respond(answer))
        step = script(seen_in(call))
        return output_of(await step if inspect.isawaitable(step) else step)

    model = ScriptedModel([ModelStep.respond(answer)])
    return model


def seen_in(call: ModelCall) -> Seen:
    items = [{"role": "user", "content": call.input}] if isinstance(call.input, str) else call.input
    return Seen(
        call.system_instructions or "",
        [tool.name for tool in call.tools],
        {
            item["call_id"]: str(item["output"])
            for item in items
            if item.get("type") == "function_call_output"
        },
        [str(item["content"]) for item in items if item.get("role") == "user"][-1],
        call.model_settings.tool_choice,
    )


def output_of(step: Step) -> list[Any]:
    if isinstance(step, str):
        return [assistant_message(step)]
    return [function_call(call.tool, call.arguments, call_id=call.id) for call in step]
