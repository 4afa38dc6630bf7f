"""A fleet of agents that share an observation buffer.

    IDENTITY_ENGINE_API_KEY=svc_sk_… python examples/fleet.py [AGENTS] [OBSERVATIONS]

Each agent makes several observations within a second. The buffer keeps each agent's order, sends
batches with timestamps a second apart, and finally reports the number of acknowledged observations.
The example writes unacknowledged batches to a file. The next run sends these batches with the same
keys. Batches that are too old to send stay in the file. Agents with unacknowledged batches are not
deleted.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from pydantic import TypeAdapter

from identity_engine import (
    Acknowledged,
    AsyncIdentityEngine,
    AsyncObservationBuffer,
    Observation,
    UnacknowledgedBatch,
)

LEFT = Path("fleet-unacknowledged.json")
BATCHES: TypeAdapter[list[UnacknowledgedBatch]] = TypeAdapter(list[UnacknowledgedBatch])


async def main(agents: int, observations: int) -> None:
    """Creates agents, observes them, and deletes them."""
    tired: set[str] = set()

    def note(news: Acknowledged) -> None:
        if "explore" in news.result.data.contract.forbidden_actions:
            tired.add(news.instance_id)

    async with AsyncIdentityEngine() as client:
        ids = await create(client, agents)
        began_s = time.perf_counter()
        buffer = AsyncObservationBuffer(client, on_acknowledged=note)
        left = BATCHES.validate_json(LEFT.read_bytes()) if LEFT.exists() else []
        too_old = buffer.restore(left)
        for turn in range(observations):
            for agent in ids:
                strength = 0.3 + 0.1 * (turn % 5)
                await buffer.add(agent, Observation(mode_target="ORDER", signal_strength=strength))
        closed = await buffer.close(timeout_s=60)
        took_s = time.perf_counter() - began_s
        # The file keeps the batches of the previous run until here.
        keep([*too_old, *closed.unacknowledged])
        print(f"{closed.acknowledged} observations of {agents} agents in {took_s:.1f} s")
        print(f"{len(closed.rejected)} rejected, {len(closed.unacknowledged)} batches left")
        print(f"{len(tired)} agents must not explore")
        needed = {batch.instance_id for batch in closed.unacknowledged}
        done = [agent for agent in ids if agent not in needed]
        await asyncio.gather(*(client.instances.delete(agent) for agent in done))


def keep(batches: list[UnacknowledgedBatch]) -> None:
    """Replaces the file for the next run. A crash leaves the previous file intact."""
    if not batches:
        LEFT.unlink(missing_ok=True)
        return
    fresh = LEFT.with_suffix(".new")
    fresh.write_bytes(BATCHES.dump_json(batches))
    fresh.replace(LEFT)


async def create(client: AsyncIdentityEngine, agents: int) -> list[str]:
    """Creates instances and returns their ids."""
    made = await asyncio.gather(
        *(client.instances.create(f"agent {number}") for number in range(agents))
    )
    return [each.data.id for each in made]


if __name__ == "__main__":
    asyncio.run(
        main(
            agents=int(sys.argv[1]) if len(sys.argv) > 1 else 1_000,
            observations=int(sys.argv[2]) if len(sys.argv) > 2 else 20,
        )
    )
