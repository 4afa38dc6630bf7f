"""An agent of Pydantic AI that changes its behavior.

    IDENTITY_ENGINE_API_KEY=svc_sk_… python examples/pydantic_ai_agent.py [TURNS]

A scripted model deploys in each turn, and each deployment fails, until the contract forbids the
tool. With ``OPENAI_API_KEY``, and ``OPENAI_BASE_URL`` for another provider, a real model decides.
"""

import os
import sys

from pydantic_ai import Agent as Runnable
from pydantic_ai import Tool, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel

from identity_engine import Agent, AgentTurn, IdentityEngine, ToolPolicy
from identity_engine.pydantic_ai import Identity


def deploy(service: str) -> str:
    """Deploys a service."""
    raise ToolFailed(f"the build of {service} is broken")


def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Deploys twice, then repeats the result."""
    result = messages[-1].parts[-1]
    if isinstance(result, ToolReturnPart):
        return ModelResponse([TextPart(result.model_response_str())])
    return ModelResponse([ToolCallPart("deploy", {"service": "shop"}, id) for id in ("1", "2")])


def main(turns: int) -> None:
    name = os.environ.get("OPENAI_MODEL", "gpt-5-mini")
    model: Model = FunctionModel(answer)
    if "OPENAI_API_KEY" in os.environ:
        model = OpenAIChatModel(name)
    runner = Runnable(model, deps_type=AgentTurn, tools=[Tool(deploy)], capabilities=[Identity()])
    with IdentityEngine() as client:
        ada = client.instances.create("Ada").data
        agent = Agent(client.instance(ada.id), tools=ToolPolicy({"deploy": "execute"}))
        for number in range(1, turns + 1):
            with agent.turn(ada.id, number) as turn:
                stress = turn.contract.stress_state if turn.contract else "unknown"
                result = runner.run_sync("Deploy the shop.", deps=turn)
                print(f"{number}: {stress}; {result.output}")
        client.instances.delete(ada.id)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
