"""A run of a framework's agent with a scripted model, a fake service and tools that count calls.

Each framework has a driver. The scenarios are the same for all frameworks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from both_clients import KEY, Kind
from identity_engine import (
    Agent,
    AsyncAgent,
    AsyncIdentityEngine,
    IdentityEngine,
    KnownAction,
    ToolMode,
    ToolPolicy,
)
from identity_engine.models import Contract
from test_agent import instance_with
from test_guard import INSTANCE, contract, state
from wire_server import Request, WireServer, data, serving

BASE = "You are Ada."
SECRET = "sk-secret"
"""Argument of each tool call. Must not reach the service."""

FORBIDDEN = ("execute", "explore")
PROMPT = Contract.model_validate(contract(*FORBIDDEN)).as_prompt()
POLICY: dict[str, KnownAction] = {"send_email": "execute", "look_up": "clarify"}
"""The contract forbids ``send_email``."""

MODES: tuple[ToolMode, ...] = ("refuse", "hide", "observe")


@dataclass(frozen=True)
class Call:
    """A tool call of the model."""

    tool: str
    id: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: {"text": SECRET})


@dataclass(frozen=True)
class Seen:
    """A request to the model."""

    instructions: str
    tools: Sequence[str]
    results: Mapping[str, str]
    """Results of all tool calls of the conversation, by call."""
    user: str
    """The last text of the user."""
    tool_choice: object = None


Step = str | Sequence[Call]
"""Answer of the model: a text, or tool calls."""

Script = Callable[[Seen], Step | Awaitable[Step]]
"""Answers the requests of all runs. Must not wait in a run without an event loop."""

Body = Callable[[str], Any]
"""Body of a tool: a function, with or without ``async``."""


class Driver(Protocol):
    """Runs agents of one framework."""

    name: str
    entries: Mapping[str, Kind]
    """Ways to run an agent."""
    streaming: frozenset[str]
    """Entries that stream the answer."""

    def agent(self, script: Script, tools: Mapping[str, Body], **options: Any) -> Any:
        """Returns an agent with the instructions ``BASE`` and with the adapter."""

    def run(self, entry: str, agent: Any, context: Any, text: str, stop: bool) -> str:
        """Runs the agent; with ``stop``, leaves the stream after the first piece of text."""

    async def arun(self, entry: str, agent: Any, context: Any, text: str, stop: bool) -> str:
        """Runs the agent on the event loop."""


@dataclass
class Played:
    """What a run did."""

    output: str | None = None
    error: BaseException | None = None
    seen: list[Seen] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    """Tools that ran."""
    requests: list[Request] = field(default_factory=list)
    """Requests to the service."""
    reported: list[Exception] = field(default_factory=list)
    """Errors that the agent survived."""

    @property
    def observed(self) -> list[Request]:
        return [request for request in self.requests if request.path.endswith("/process")]

    @property
    def modes(self) -> list[str]:
        return [request.json["mode_target"] for request in self.observed]


def steps(*answers: Step | BaseException) -> Script:
    """A script with one answer for each request. An exception is raised."""
    left = list(answers)

    def script(_: Seen) -> Step:
        answer = left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return script


@contextmanager
def service(*forbidden: str) -> Iterator[WireServer]:
    """A service whose instances have a contract."""
    with serving(instance_with(lambda _: data(state(*(forbidden or FORBIDDEN))))) as server:
        yield server


@dataclass
class Play:
    """A scenario of one run.

    ``run`` plays the scenario with an entry of a framework.
    """

    script: Script
    tools: Mapping[str, Body] = field(default_factory=dict)
    """Bodies of tools; the tools of ``POLICY`` return a text by default."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """Options of the tool policy."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the framework's agent."""
    agent_options: Mapping[str, Any] = field(default_factory=dict)
    context: Callable[[Any], Any] = lambda turn: {"turn": turn}
    base_url: str | None = None
    stop: bool = False
    """Whether the consumer leaves the stream early."""
    cancel: asyncio.Event | None = None
    """Event after which the run is cancelled."""
    agent: Any = None
    """The agent of the run, for tools."""

    def run(self, driver: Driver, entry: str) -> Played:
        played = Played()

        def script(seen: Seen) -> Step | Awaitable[Step]:
            played.seen.append(seen)
            return self.script(seen)

        bodies = {name: spy(name, self.tools.get(name), played.ran) for name in POLICY}
        for name, body in self.tools.items():
            bodies[name] = spy(name, body, played.ran)
        runner = driver.agent(script, bodies, **self.options)
        with service() as server:
            base_url = self.base_url or server.base_url
            try:
                if driver.entries[entry] == "sync":
                    self._run(driver, entry, runner, base_url, played)
                else:
                    asyncio.run(self._arun(driver, entry, runner, base_url, played))
            except (Exception, asyncio.CancelledError, KeyboardInterrupt) as error:
                played.error = error
            played.requests = list(server.requests)
        return played

    def _options(self, played: Played) -> dict[str, Any]:
        policy = {"actions": POLICY, **self.policy}
        tools = ToolPolicy(**policy)
        return {"tools": tools, "on_error": played.reported.append, **self.agent_options}

    def _run(self, driver: Driver, entry: str, runner: Any, base_url: str, played: Played) -> None:
        with IdentityEngine(api_key=KEY, base_url=base_url, attempts_max=1) as client:
            self.agent = Agent(client.instance(INSTANCE), **self._options(played))
            with self.agent.turn("run", 1) as turn:
                context = self.context(turn)
                played.output = driver.run(entry, runner, context, "hello", self.stop)
            # While the service is away, the end of the turn waits for nothing.
            self.agent.flush()

    async def _arun(
        self, driver: Driver, entry: str, runner: Any, base_url: str, played: Played
    ) -> None:
        async with AsyncIdentityEngine(api_key=KEY, base_url=base_url, attempts_max=1) as client:
            self.agent = AsyncAgent(client.instance(INSTANCE), **self._options(played))
            task = asyncio.create_task(self._turn(driver, entry, runner))
            if self.cancel is not None:
                await self.cancel.wait()
                task.cancel()
            played.output = await task
            await self.agent.flush()

    async def _turn(self, driver: Driver, entry: str, runner: Any) -> str:
        async with self.agent.turn("run", 1) as turn:
            return await driver.arun(entry, runner, self.context(turn), "hello", self.stop)


def spy(name: str, body: Body | None, ran: list[str]) -> Body:
    """Counts the calls of a tool."""
    inner: Body = body or (lambda _: f"{name} done")

    def run(text: str) -> Any:
        ran.append(name)
        return inner(text)

    async def arun(text: str) -> Any:
        ran.append(name)
        return await inner(text)

    return arun if asyncio.iscoroutinefunction(inner) else run


def function(name: str, body: Body) -> Callable[..., Any]:
    """A function that a framework can turn into a tool."""

    def run(text: str) -> str:
        return str(body(text))

    async def arun(text: str) -> str:
        return str(await body(text))

    made: Callable[..., Any] = arun if asyncio.iscoroutinefunction(body) else run
    made.__name__ = name
    made.__doc__ = f"Does {name}."
    return made
