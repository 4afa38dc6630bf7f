"""Concurrent runs of one agent of a framework, each with its own instance."""

from __future__ import annotations

import asyncio
import random
import re
from typing import Any

import pytest

from both_clients import KEY
from identity_engine import ACTIONS, AsyncAgent, AsyncIdentityEngine, ToolPolicy
from identity_engine.models import Contract
from scenario import BASE, POLICY, Call, Driver, Seen, Step, spy
from test_agent import CURRENT
from test_guard import contract, state
from wire_server import Reply, Request, data, serving

RUNS = 200
TIMEOUT_S = 60.0
"""Deadline of a call of the service. A busy machine answers 200 calls at once slowly."""

YIELDS_MAX = 20
"""Maximum number of other tasks' steps before the model answers."""

BITS = [action for action in ACTIONS if action != POLICY["look_up"]]


def id_of(number: int) -> str:
    return f"inst_{number:016x}"


def forbidden_in(instance: str) -> list[str]:
    """Forbidden actions of an instance: different for each instance."""
    number = int(instance.removeprefix("inst_"), 16)
    return [action for bit, action in enumerate(BITS) if number >> bit & 1]


def prompt_of(instance: str) -> str:
    return Contract.model_validate(contract(*forbidden_in(instance))).as_prompt()


def answer(request: Request) -> Reply:
    found = re.search(r"inst_\w+", request.path)
    assert found is not None
    instance = found.group()
    match request.path.rsplit("/", 1)[1]:
        case "contract":
            return data(contract(*forbidden_in(instance)))
        case "snapshot":
            return data({**CURRENT, "instance_id": instance})
    return data(state(*forbidden_in(instance)))


@pytest.mark.timeout(180)
@pytest.mark.entries("ainvoke", "astream", "run", "run_streamed", "run_stream_events")
def test_runs_never_mix_instances(driver: Driver, entry: str) -> None:
    """In a stream, every second consumer leaves early."""
    seen: list[Seen] = []
    delays = random.Random(1)

    async def script(given: Seen) -> Step:
        seen.append(given)
        for _ in range(delays.randrange(YIELDS_MAX)):
            await asyncio.sleep(0)
        return given.user if given.results else [Call("send_email", "1"), Call("look_up", "2")]

    ran: list[str] = []
    runner = driver.agent(script, {name: spy(name, None, ran) for name in POLICY})

    async def run(client: AsyncIdentityEngine, number: int) -> str:
        instance = id_of(number)
        handle = client.instance(instance)
        agent = AsyncAgent(handle, tools=ToolPolicy(POLICY), timeout_s=TIMEOUT_S)
        stop = entry in driver.streaming and number % 2 == 1
        async with agent.turn(instance) as turn:
            return await driver.arun(entry, runner, {"turn": turn}, instance, stop)

    async def runs(base_url: str) -> Any:
        async with AsyncIdentityEngine(
            api_key=KEY, base_url=base_url, timeout_s=TIMEOUT_S, attempt_timeout_s=TIMEOUT_S
        ) as client:
            return await asyncio.gather(*(run(client, number) for number in range(RUNS)))

    with serving(answer) as server:
        asyncio.run(runs(server.base_url))
        processed = [each for each in server.requests if each.path.endswith("/process")]
    for each in seen:
        assert each.instructions == "\n\n".join([BASE, prompt_of(each.user)])
        is_refused = "was not run" in each.results.get("1", "")
        assert is_refused == (each.results != {} and "execute" in forbidden_in(each.user))
    assert sorted(each.user for each in seen) == sorted([id_of(n) for n in range(RUNS)] * 2)
    assert ran.count("look_up") == RUNS
    permitted = [n for n in range(RUNS) if "execute" not in forbidden_in(id_of(n))]
    assert ran.count("send_email") == len(permitted)
    keys = {each.path.split("/")[-2]: each.headers["idempotency-key"] for each in processed}
    assert len(processed) == RUNS
    assert keys == {id_of(n): f"turn:{id_of(n)}" for n in range(RUNS)}
