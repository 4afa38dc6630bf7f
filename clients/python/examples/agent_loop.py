"""An agent that changes its behavior.

    IDENTITY_ENGINE_API_KEY=svc_sk_… python examples/agent_loop.py [TURNS]

A scripted model deploys again and again, and every deployment fails. The failures are observed as
stress, until the contract forbids the tool and the prompt asks for help.
"""

from __future__ import annotations

import sys

from identity_engine import Agent, IdentityEngine, ToolPolicy


def deploy() -> None:
    raise RuntimeError("the build is broken")


TOOLS = {"deploy": deploy}


def main(turns: int) -> None:
    with IdentityEngine() as client:
        strengths = {"perception": 0.7, "order": 0.6, "connection": 0.4}
        ada = client.instances.create("Ada", initial_config={"mode_strengths": strengths}).data
        agent = Agent(
            client.instance(ada.id),
            tools=ToolPolicy({"deploy": "execute"}, tools=TOOLS),
            on_error=lambda error: print("the service is away:", error, file=sys.stderr),
        )
        for number in range(1, turns + 1):
            with agent.turn(ada.id, number) as turn:
                # Put turn.prompt last into the instructions of a model. This model always deploys.
                stress = turn.contract.stress_state if turn.contract else "unknown"
                refusal = turn.refusal_of("deploy")
                for _ in range(2 if refusal is None else 0):
                    try:
                        TOOLS["deploy"]()
                        turn.used("deploy", "ok")
                    except RuntimeError:
                        turn.used("deploy", "error")
                print(f"{number}: {stress}; {refusal or 'deployed twice, failed twice'}")
        client.instances.delete(ada.id)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
