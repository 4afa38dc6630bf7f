"""An agent of the OpenAI Agents SDK that changes its behavior.

    IDENTITY_ENGINE_API_KEY=svc_sk_… python examples/openai_agents_agent.py [TURNS]

A scripted model deploys in each turn, and each deployment fails, until the contract forbids the
tool. With ``OPENAI_API_KEY``, and ``OPENAI_BASE_URL`` for another provider, a real model decides.
"""

import os
import sys
from typing import Any

from agents import Agent as Runnable
from agents import Model, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from openai import AsyncOpenAI

from identity_engine import Agent, IdentityEngine, ToolPolicy
from identity_engine.openai_agents import with_identity


@function_tool
def deploy(service: str) -> str:
    """Deploys a service."""
    raise RuntimeError(f"the build of {service} is broken")


def answer(call: ModelCall) -> list[Any]:
    """Deploys twice, then repeats the result."""
    result = call.input[-1].get("output") if isinstance(call.input[-1], dict) else None
    if result is not None:
        return [assistant_message(result)]
    return [function_call("deploy", {"service": "shop"}, call_id=id) for id in ("1", "2")]


def main(turns: int) -> None:
    name = os.environ.get("OPENAI_MODEL", "gpt-5-mini")
    model: Model = ScriptedModel([ModelStep.respond(answer)] * 2 * turns)
    if "OPENAI_API_KEY" in os.environ:
        model = OpenAIChatCompletionsModel(name, AsyncOpenAI())
    runner = with_identity(Runnable("Ada", model=model, tools=[deploy]))
    config = RunConfig(tracing_disabled=True)
    with IdentityEngine() as client:
        ada = client.instances.create("Ada").data
        agent = Agent(client.instance(ada.id), tools=ToolPolicy({"deploy": "execute"}))
        for number in range(1, turns + 1):
            with agent.turn(ada.id, number) as turn:
                stress = turn.contract.stress_state if turn.contract else "unknown"
                result = Runner.run_sync(
                    runner, "Deploy the shop.", context={"turn": turn}, run_config=config
                )
                print(f"{number}: {stress}; {result.final_output}")
        client.instances.delete(ada.id)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
