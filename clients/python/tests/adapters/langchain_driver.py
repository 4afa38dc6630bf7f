"""Runs agents of LangChain."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool

from both_clients import Kind
from identity_engine.langchain import IdentityMiddleware
from scenario import BASE, Body, Script, Seen, Step, function


class LangChainDriver:
    name = "langchain"
    entries: Mapping[str, Kind] = {
        "invoke": "sync",
        "stream": "sync",
        "batch": "sync",
        "ainvoke": "async",
        "astream": "async",
        "abatch": "async",
    }
    streaming = frozenset({"stream", "astream"})

    def agent(self, script: Script, tools: Mapping[str, Body], **options: Any) -> Any:
        identity = options.pop("identity", {})
        middleware = [*options.pop("middleware", []), IdentityMiddleware(**identity)]
        return create_agent(
            ScriptedChatModel(messages=iter(()), script=script),
            [tool_of(name, body) for name, body in tools.items()],
            system_prompt=options.pop("system_prompt", BASE),
            middleware=middleware,
            **options,
        )

    def run(self, entry: str, agent: Any, context: Any, text: str, stop: bool) -> str:
        given = {"messages": [("user", text)]}
        if entry == "stream":
            for chunk, _ in agent.stream(given, context=context, stream_mode="messages"):
                if stop and isinstance(chunk, AIMessageChunk) and chunk.text:
                    return chunk.text
            return ""
        if entry == "batch":
            (state,) = agent.batch([given], context=context)
        else:
            state = agent.invoke(given, context=context)
        return str(state["messages"][-1].text)

    async def arun(self, entry: str, agent: Any, context: Any, text: str, stop: bool) -> str:
        given = {"messages": [("user", text)]}
        if entry == "astream":
            async for chunk, _ in agent.astream(given, context=context, stream_mode="messages"):
                if stop and isinstance(chunk, AIMessageChunk) and chunk.text:
                    return chunk.text
            return ""
        if entry == "abatch":
            (state,) = await agent.abatch([given], context=context)
        else:
            state = await agent.ainvoke(given, context=context)
        return str(state["messages"][-1].text)


class ScriptedChatModel(GenericFakeChatModel):
    """The framework's fake model, with a script, and with tools."""

    script: Any

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **kwargs: Any) -> Any:
        return self.bind(tools=tools, tool_choice=tool_choice, **kwargs)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        step = self.script(seen_in(messages, kwargs))
        return ChatResult(generations=[ChatGeneration(message=message_of(step))])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        step = self.script(seen_in(messages, kwargs))
        step = await step if inspect.isawaitable(step) else step
        return ChatResult(generations=[ChatGeneration(message=message_of(step))])

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        yield from chunks_of(self.script(seen_in(messages, kwargs)))

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        step = self.script(seen_in(messages, kwargs))
        for chunk in chunks_of(await step if inspect.isawaitable(step) else step):
            yield chunk


def seen_in(messages: list[BaseMessage], options: Mapping[str, Any]) -> Seen:
    system = [message for message in messages if message.type == "system"]
    assert len(system) <= 1
    blocks = system[0].content_blocks if system else []
    return Seen(
        "\n\n".join(str(block.get("text", "")) for block in blocks),
        [name_of(tool) for tool in options.get("tools") or []],
        {
            message.tool_call_id: message.text
            for message in messages
            if isinstance(message, ToolMessage)
        },
        [message.text for message in messages if message.type == "human"][-1],
        options.get("tool_choice"),
    )


def name_of(tool: Any) -> str:
    return str(tool["type"] if isinstance(tool, dict) else tool.name)


def message_of(step: Step) -> AIMessage:
    if isinstance(step, str):
        return AIMessage(step)
    calls = [{"name": call.tool, "args": dict(call.arguments), "id": call.id} for call in step]
    return AIMessage("", tool_calls=calls)


def chunks_of(step: Step) -> Iterator[ChatGenerationChunk]:
    """Pieces of an answer: words, or tool calls."""
    if isinstance(step, str):
        for word in step.split():
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        return
    for at, call in enumerate(step):
        arguments = json.dumps(call.arguments)
        chunk = tool_call_chunk(name=call.tool, args=arguments, id=call.id, index=at)
        message = AIMessageChunk(content="", tool_call_chunks=[chunk])
        yield ChatGenerationChunk(message=message)


def tool_of(name: str, body: Body) -> StructuredTool:
    made = function(name, body)
    if inspect.iscoroutinefunction(made):
        return StructuredTool.from_function(coroutine=made, name=name)
    return StructuredTool.from_function(made, name=name)
