"""An agent of LangChain that changes its behavior.

    IDENTITY_ENGINE_API_KEY=svc_sk_… python examples/langchain_agent.py [TURNS]

A scripted model deploys in each turn, and each deployment fails, until the contract forbids the
tool. With ``OPENAI_API_KEY``, and ``OPENAI_BASE_URL`` for another provider, a real model decides.
"""

import os
import sys
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import ToolException, tool

from identity_engine import Agent, IdentityEngine, ToolPolicy
from identity_engine.langchain import IdentityMiddleware


@tool
def deploy(service: str) -> str:
    """Deploys a service."""
    raise ToolException(f"the build of {service} is broken")


deploy.handle_tool_error = True  # the model gets the error as the result
TASK = {"messages": [("user", "Deploy the shop.")]}


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


SHOP = {"service": "shop"}
CALLS = [ToolCall(name="deploy", args=SHOP, id=id, type="tool_call") for id in ("1", "2")]


def main(turns: int) -> None:
    script = [AIMessage("", tool_calls=CALLS), AIMessage("I tried.")] * turns
    model: Any = ScriptedModel(messages=iter(script))
    if "OPENAI_API_KEY" in os.environ:
        model = init_chat_model(os.environ.get("OPENAI_MODEL", "openai:gpt-5-mini"))
    runner: Any = create_agent(model, [deploy], middleware=[IdentityMiddleware()])
    with IdentityEngine() as client:
        ada = client.instances.create("Ada").data
        agent = Agent(client.instance(ada.id), tools=ToolPolicy({"deploy": "execute"}))
        for number in range(1, turns + 1):
            with agent.turn(ada.id, number) as turn:
                stress = turn.contract.stress_state if turn.contract else "unknown"
                state = runner.invoke(TASK, context={"turn": turn})
                print(f"{number}: {stress};", *(each.text for each in state["messages"][-2:]))
        client.instances.delete(ada.id)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
