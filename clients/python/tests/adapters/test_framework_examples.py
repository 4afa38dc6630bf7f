"""The examples with scripted models and with a provider's protocol, and the README's blocks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from agents import function_tool
from pydantic_ai import Tool

from both_clients import KEY
from conftest import DRIVERS
from identity_engine import Agent, IdentityEngine, ToolPolicy
from langchain_driver import ScriptedChatModel, tool_of
from openai_agents_driver import model_of as agents_model
from pydantic_ai_driver import model_of as pydantic_model
from scenario import POLICY, PROMPT, Call, Seen, function
from scenario import service as fake_service
from test_agent import instance_with
from test_guard import INSTANCE, state
from test_readme import FRAMEWORK_BLOCKS, README
from wire_server import Reply, Request, data, script, serving

PACKAGE = Path(__file__).resolve().parent.parent.parent
RUN_S_MAX = 50
EXAMPLES = sorted(path.name for path in (PACKAGE / "examples").glob("*_agent.py"))
PACKAGES = ["langchain", "openai-agents", "pydantic-ai-slim"]
"""Packages of the frameworks, in the order of the README's columns."""


def run(name: str, turns: int, environment: Mapping[str, str] | None = None) -> str:
    command = [sys.executable, "-W", "error", str(PACKAGE / "examples" / name), str(turns)]
    env = {**os.environ, **(environment or {})}
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=RUN_S_MAX, env=env, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_there_is_an_example_for_each_framework() -> None:
    assert len(EXAMPLES) == 3
    for name in EXAMPLES:
        assert len((PACKAGE / "examples" / name).read_text("utf-8").splitlines()) <= 60


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_changes_its_behavior(name: str, service: str) -> None:
    lines = run(name, 10).splitlines()
    assert lines[0].startswith("1: LOW; ")
    assert re.match(r"10: HIGH; The tool deploy was not run", lines[-1]), lines


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs_with_the_protocol_of_a_provider(name: str) -> None:
    """The provider's model calls the forbidden tool twice."""
    answers = script(chat(calls=["1", "2"]), chat(text="I tried."))

    def instance(request: Request) -> Any:
        if request.method == "DELETE":
            return data({"id": INSTANCE, "deleted": True})
        if request.path.endswith("/instances"):
            return data(CREATED, 201)
        return inner(request)

    inner = instance_with(lambda _: data(state("execute", "explore")))
    with serving(answers) as provider, serving(instance) as engine:
        environment = {
            "OPENAI_API_KEY": "key",
            "OPENAI_BASE_URL": provider.base_url,
            "IDENTITY_ENGINE_BASE_URL": engine.base_url,
            "IDENTITY_ENGINE_API_KEY": KEY,
        }
        assert "I tried." in run(name, 1, environment)
        first, second = (request.json for request in provider.requests)
    assert text_of(first["messages"][0]) == PROMPT
    assert first["messages"][0]["role"] in ("system", "developer")
    assert [tool["function"]["name"] for tool in first["tools"]] == ["deploy"]
    results = [message for message in second["messages"] if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ["1", "2"]
    assert all("The tool deploy was not run" in text_of(message) for message in results)


CREATED = {
    "id": INSTANCE,
    "name": "Ada",
    "description": "",
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
}


def text_of(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def chat(text: str | None = None, calls: list[str] | None = None) -> Reply:
    """An answer of the protocol for chats."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls is not None:
        called = {"name": "deploy", "arguments": json.dumps({"service": "shop"})}
        message["tool_calls"] = [{"id": id, "type": "function", "function": called} for id in calls]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    body = {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": "gpt-5-mini",
        "choices": [choice],
        "usage": usage,
    }
    return Reply(body=json.dumps(body).encode())


def test_readme_states_the_tested_versions() -> None:
    row = re.search(r"^\| Tested version \|(.*)\|$", README, re.MULTILINE)
    assert row is not None
    stated = [cell.strip() for cell in row.group(1).split("|")]
    assert stated == [version(package) for package in PACKAGES]


def test_readme_states_the_tested_methods() -> None:
    row = re.search(r"^\| Tested methods \|(.*)\|$", README, re.MULTILINE)
    assert row is not None
    stated = [sorted(re.findall(r"`(\w+)`", cell)) for cell in row.group(1).split("|")]
    assert stated == [sorted(driver.entries) for driver in DRIVERS]


@pytest.mark.parametrize("block", FRAMEWORK_BLOCKS, ids=PACKAGES)
def test_readme_block_runs(block: str) -> None:
    """In the block, the model calls the tool once. The instance observes the call."""
    seen: list[Seen] = []

    def script(given: Seen) -> Any:
        seen.append(given)
        return "done" if given.results else [Call("look_up", "1")]

    look_up = function("look_up", str)
    names = {
        "langchain": (ScriptedChatModel(messages=iter(()), script=script), tool_of("look_up", str)),
        "agents": (agents_model(script), function_tool(look_up)),
        "pydantic_ai": (pydantic_model(script), Tool(look_up)),
    }
    found = re.search(r"^from (langchain|agents|pydantic_ai)", block, re.MULTILINE)
    assert found is not None
    model, tool = names[found.group(1)]
    with (
        fake_service() as server,
        IdentityEngine(api_key=KEY, base_url=server.base_url, attempts_max=1) as client,
    ):
        ada = Agent(client.instance(INSTANCE), tools=ToolPolicy(POLICY))
        exec(compile(block, "README.md", "exec"), {"ada": ada, "model": model, "look_up": tool})
        observed = [each for each in server.requests if each.path.endswith("/process")]
    assert len(block.splitlines()) <= 10
    assert [each.instructions for each in seen] == [PROMPT] * 2
    assert [each.headers["idempotency-key"] for each in observed] == ["turn:conversation-7:12"]
