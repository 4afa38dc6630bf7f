"""An agent that obeys its contract.

    IDENTITY_ENGINE_API_KEY=svc_sk_… python examples/agent_loop.py [TURNS]

In each turn, a language model proposes an action. If the agent's contract forbids the action, the
agent chooses another action. The agent then reports its action to the service as an observation. A
fixed table replaces the language model, so that the example runs without a model.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone

from identity_engine import IdentityEngine, KnownAction, Observation
from identity_engine.models import Action, ModeTarget

PROPOSALS: list[KnownAction] = ["explore", "execute", "challenge", "question", "pivot", "comfort"]
"""Actions that ``propose`` returns in this order, again and again."""

MODE_OF: dict[Action, ModeTarget] = {
    "explore": "EXPLORATION",
    "question": "PERCEPTION",
    "execute": "ORDER",
    "pivot": "EXPLORATION",
    "challenge": "ASSERTION",
    "comfort": "CONNECTION",
    "stabilize": "ORDER",
}
"""Mode that each action exercises."""


def propose(turn: int) -> KnownAction:
    """Stand-in for a call to a language model."""
    return PROPOSALS[turn % len(PROPOSALS)]


def main(turns: int) -> None:
    """Runs the agent for some turns, one simulated minute apart."""
    now = datetime.now(timezone.utc) - timedelta(minutes=turns)
    with IdentityEngine() as client:
        analyst = client.personas.get("persona_analytical").data
        created = client.instances.create(
            "Ada", initial_config={"mode_strengths": analyst.mode_profile}
        )
        agent = client.instance(created.data.id)
        guard = agent.guard()
        guard.refresh()
        obeyed = 0
        for turn in range(turns):
            action: Action = propose(turn)
            if not guard.allows(propose(turn)):
                obeyed += 1
                action = guard.contract.allowed_actions[0] if guard.contract else "stabilize"
            observed = agent.process(
                Observation(
                    mode_target=MODE_OF.get(action, "ORDER"),
                    signal_strength=0.8 if turn % 3 else 0.4,
                    context={"turn": turn, "action": action},
                    timestamp=now + timedelta(minutes=turn),
                )
            )
            state = observed.data.snapshot
            print(
                f"{turn:3} {action:10} {state.stress_state:4} energy {state.energy_level:.2f} "
                f"drift {observed.data.drift.level}"
            )
        print(f"{turns} turns, {obeyed} proposals replaced because the contract forbade them")
        client.instances.delete(agent.id)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
