"""Compares the client with bare httpx, and the buffer with single calls.

    IDENTITY_ENGINE_API_KEY=svc_sk_… python bench/overhead.py [--quick]

Needs a running service. Both sides of a comparison alternate in one process, so that other load on
the machine affects both. Prints the median ratio. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

import httpx

from identity_engine import AsyncIdentityEngine, AsyncObservationBuffer, uuid7

AT_ONCE = 64
OVERHEAD_MAX = 1.3
"""Maximum call time through the client, as a multiple of bare httpx."""

GAIN_MIN = 5.0
"""Minimum observation rate through the buffer, as a multiple of single calls."""

INSTANCES = 200
"""Number of instances: enough that single calls do not wait for each other."""

Turn = Callable[[int], Awaitable[None]]


async def main(turns: int, calls: int) -> int:
    """Measures, prints, and returns the exit code."""
    async with AsyncIdentityEngine() as client:
        ids = await make_instances(client)
        overhead = await compare_reads(client, ids, turns, calls)
        gain = await compare_buffer(client, ids, turns, calls)
        await asyncio.gather(*(client.instances.delete(each) for each in ids))
    print(f"overhead of a call: {overhead:.2f} (target: at most {OVERHEAD_MAX})")
    print(f"gain of the buffer: {gain:.1f} (target: at least {GAIN_MIN})")
    return 0 if overhead <= OVERHEAD_MAX and gain >= GAIN_MIN else 1


async def make_instances(client: AsyncIdentityEngine) -> list[str]:
    """Creates instances and returns their ids."""
    made = await asyncio.gather(
        *(client.instances.create(f"bench {number}") for number in range(INSTANCES))
    )
    return [each.data.id for each in made]


async def compare_reads(
    client: AsyncIdentityEngine, ids: list[str], turns: int, calls: int
) -> float:
    """Returns the time of snapshot reads through the client, as a multiple of bare httpx.

    Both sides parse the JSON.
    """
    key = os.environ["IDENTITY_ENGINE_API_KEY"]
    headers = {"Authorization": f"Bearer {key}"}
    limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
    async with httpx.AsyncClient(limits=limits, headers=headers, timeout=30) as bare:

        async def through_client(number: int) -> None:
            await client.instance(ids[number % INSTANCES]).snapshot()

        async def through_httpx(number: int) -> None:
            address = f"{client.base_url}/instances/{ids[number % INSTANCES]}/snapshot"
            (await bare.get(address)).raise_for_status().json()

        return await ratio("snapshot", through_client, through_httpx, turns, calls)


async def ratio(name: str, left: Turn, right: Turn, turns: int, calls: int) -> float:
    """Alternates turns of both sides. Returns the median of left time divided by right time.

    Leaves out the first turn.
    """
    ratios: list[float] = []
    for turn in range(turns + 1):
        left_s = await timed(left, calls)
        right_s = await timed(right, calls)
        if turn > 0:
            ratios.append(left_s / right_s)
            print(f"{name}: client {calls / left_s:.0f}/s, httpx {calls / right_s:.0f}/s")
    return statistics.median(ratios)


async def timed(call: Turn, calls: int) -> float:
    """Returns the time of ``calls`` calls in seconds. At most 64 calls run concurrently."""
    left = iter(range(calls))

    async def work() -> None:
        for number in left:
            await call(number)

    began_s = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return time.perf_counter() - began_s


async def compare_buffer(
    client: AsyncIdentityEngine, ids: list[str], turns: int, calls: int
) -> float:
    """Returns the observation rate through the buffer, as a multiple of the rate of single calls.

    At most 64 single calls run concurrently.
    """
    at_ms = 1_768_478_400_000

    def observation() -> dict[str, object]:
        return {"mode_target": "ORDER", "signal_strength": 0.5}

    def later() -> str:
        nonlocal at_ms
        at_ms += 1_000
        seconds = time.gmtime(at_ms / 1_000)
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", seconds)

    async def single(number: int) -> None:
        given = {**observation(), "timestamp": later()}
        handle = client.instance(ids[number % INSTANCES])
        await handle.process(given, idempotency_key=uuid7())

    gains: list[float] = []
    for turn in range(turns + 1):
        single_s = await timed(single, calls)
        began_s = time.perf_counter()
        buffer = AsyncObservationBuffer(client)
        for number in range(calls * 10):
            timed_one = {**observation(), "timestamp": later()}
            await buffer.add(ids[number % INSTANCES], timed_one)
        closed = await buffer.close(timeout_s=120)
        buffer_s = time.perf_counter() - began_s
        assert closed.acknowledged == calls * 10, "every observation is acknowledged"
        if turn > 0:
            gains.append((calls * 10 / buffer_s) / (calls / single_s))
            rates = f"single {calls / single_s:.0f}/s, buffer {calls * 10 / buffer_s:.0f}/s"
            print(f"observations: {rates}")
    return statistics.median(gains)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="run a few seconds only")
    is_quick = parser.parse_args().quick
    sys.exit(asyncio.run(main(turns=3, calls=500) if is_quick else main(turns=15, calls=3_000)))
