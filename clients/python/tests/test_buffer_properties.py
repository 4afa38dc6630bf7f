"""With any faults, every observation is applied once and in order, or is returned.

Generates schedules of adds and a fault for each request, and runs the whole client in virtual time
against a model of the service. If an example fails, the test prints how to reproduce the example.
``BUFFER_EXAMPLES=5000`` runs more examples.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, get_args

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from both_clients import KEY
from identity_engine import AsyncIdentityEngine, AsyncObservationBuffer, BufferClosed, Rejected
from identity_engine._buffer.item import time_text
from model_service import WRONG_WITHOUT_INDEX, Fault, ModelService
from virtual_time import run_virtually

EXAMPLES = int(os.environ.get("BUFFER_EXAMPLES", "150"))

START_MS = 1_768_478_400_000
"""Start of the virtual time, 2026-01-15T12:00:00Z, in Unix milliseconds."""

INSTANCES = ["inst_a", "inst_b", "inst_c"]


@dataclass(frozen=True)
class Add:
    """An observation to add after a pause."""

    instance: str
    pause_s: float
    own_offset_s: float | None
    """Caller's timestamp, relative to the time of adding, in seconds; None for no timestamp."""
    wrong_strength: int | None
    """Strength that the service refuses, with or without an index; None for a valid one."""

    @property
    def is_wrong(self) -> bool:
        return self.wrong_strength is not None


@dataclass(frozen=True)
class Plan:
    """A schedule, the faults, and the buffer options."""

    adds: Sequence[Add]
    faults: Sequence[Fault]
    batch_max: int
    pending_max: int
    close_s: float
    ahead_s: float
    """Lead of the first instance's newest timestamp over the clock at the start, in seconds."""
    skew_s: float
    """Lag of the service's clock, in seconds."""


ADDS = st.builds(
    Add,
    instance=st.sampled_from(INSTANCES),
    pause_s=st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.2, 3.0]),
    own_offset_s=st.sampled_from([None, None, None, -60.0, 0.0, 0.3, 2.0, 250.0]),
    wrong_strength=st.sampled_from([None] * 9 + [7, WRONG_WITHOUT_INDEX]),
)
PLANS = st.builds(
    Plan,
    adds=st.lists(ADDS, min_size=1, max_size=120),
    faults=st.lists(st.sampled_from(get_args(Fault)), max_size=40),
    batch_max=st.sampled_from([1, 2, 7, 100]),
    pending_max=st.sampled_from([1, 5, 10_000]),
    close_s=st.sampled_from([0.0, 0.05, 2.0, 100_000.0]),
    ahead_s=st.sampled_from([-10.0, 5.0, 200.0]),
    skew_s=st.sampled_from([0.0, 0.0, 120.0]),
)


class Play:
    """Runs a plan and collects the reports of the buffers."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.added: dict[str, list[int]] = {name: [] for name in INSTANCES}
        self.rejected: list[Rejected] = []
        self.own_texts: dict[int, str] = {}
        self.acknowledged: list[int] = []
        self.throttled: list[int] = []
        self.service = ModelService(iter(plan.faults), self._service_ms)
        self.service.newest_ms[INSTANCES[0]] = START_MS + round(plan.ahead_s * 1_000)

    def now_ms(self) -> int:
        return START_MS + round(asyncio.get_running_loop().time() * 1_000)

    def _service_ms(self) -> int:
        return self.now_ms() - round(self._plan.skew_s * 1_000)

    def buffer(self, client: AsyncIdentityEngine) -> AsyncObservationBuffer:
        return AsyncObservationBuffer(
            client,
            batch_max=self._plan.batch_max,
            pending_max=self._plan.pending_max,
            instances_at_once=2,
            on_rejected=self.rejected.append,
            on_throttled=lambda news: self.throttled.extend(numbers([news.observation])),
            on_acknowledged=lambda news: self.acknowledged.extend(numbers(news.observations)),
            clock_ms=self.now_ms,
        )

    async def first(self) -> BufferClosed:
        async with self._client() as client:
            buffer = self.buffer(client)
            for number, add in enumerate(self._plan.adds):
                await asyncio.sleep(add.pause_s)
                try:
                    await asyncio.wait_for(buffer.add(add.instance, self._fields(number, add)), 500)
                except (TimeoutError, asyncio.TimeoutError):
                    break
                self.added[add.instance].append(number)
            closed = await buffer.close(timeout_s=self._plan.close_s)
            assert closed.acknowledged == len(self.acknowledged)
            return closed

    async def second(self, closed: BufferClosed) -> None:
        async with self._client() as client:
            buffer = self.buffer(client)
            assert buffer.restore(closed.unacknowledged) == []
            last = await buffer.close(timeout_s=1_000_000)
            assert last.unacknowledged == ()

    def _client(self) -> AsyncIdentityEngine:
        http = httpx.AsyncClient(transport=self.service)
        return AsyncIdentityEngine(
            api_key=KEY, base_url="http://model/v1", http_client=http, attempts_max=2
        )

    def _fields(self, number: int, add: Add) -> dict[str, Any]:
        fields: dict[str, Any] = {"mode_target": "ORDER", "signal_strength": 0.5}
        fields["context"] = {"number": number}
        if add.wrong_strength is not None:
            fields["signal_strength"] = add.wrong_strength
        if add.own_offset_s is not None:
            fields["timestamp"] = time_text(self.now_ms() + round(add.own_offset_s * 1_000))
            self.own_texts[number] = fields["timestamp"]
        return fields


def numbers(observations: Sequence[dict[str, Any]]) -> list[int]:
    return [each["context"]["number"] for each in observations]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    print_blob=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(PLANS)
def test_every_observation_counts_once_or_is_returned(plan: Plan) -> None:
    run_virtually(lambda: _play(plan))


async def _play(plan: Plan) -> None:
    play = Play(plan)
    closed = await play.first()
    rejected = {number for each in play.rejected for number in numbers([each.observation])}
    assert rejected <= {n for n, add in enumerate(plan.adds) if add.is_wrong}
    own = {n for n, add in enumerate(plan.adds) if add.own_offset_s is not None}
    assert set(play.throttled) <= own, "throttled although the buffer set the timestamp"
    rejected |= set(play.throttled)
    back: dict[str, list[int]] = {name: [] for name in INSTANCES}
    unclear: set[int] = set()
    for batch in closed.unacknowledged:
        back[batch.instance_id] += numbers(batch.observations)
        if batch.may_have_happened:
            unclear |= set(numbers(batch.observations))
    for name in INSTANCES:
        applied = numbers(play.service.applied.get(name, []))
        kept = [n for n in play.added[name] if n not in rejected]
        assert len(set(applied)) == len(applied), "applied twice"
        settled = [n for n in kept if n not in back[name]]
        assert [n for n in applied if n not in back[name]] == settled, "lost, or out of order"
        assert set(applied) & set(back[name]) <= unclear, "returned as not applied, but applied"
        assert back[name] == [n for n in kept if n in back[name]], "returned out of order"
    await play.second(closed)
    await asyncio.sleep(10)
    rejected = {number for each in play.rejected for number in numbers([each.observation])}
    assert rejected <= {n for n, add in enumerate(plan.adds) if add.is_wrong}
    assert set(play.throttled) <= own
    assert len(set(play.throttled)) == len(play.throttled)
    rejected |= set(play.throttled)
    for name in INSTANCES:
        for each in play.service.applied.get(name, []):
            (number,) = numbers([each])
            assert number not in own or each["timestamp"] == play.own_texts[number], "changed"
        kept = [n for n in play.added[name] if n not in rejected]
        assert numbers(play.service.applied.get(name, [])) == kept, "lost or twice"
        assert not set(kept) & {n for n, add in enumerate(plan.adds) if add.is_wrong}
    assert play.service.most_at_once <= 2
    assert plan.skew_s > 0 or play.service.too_far_ahead == 0


def test_long_queue_is_sent_within_the_maximum_lead() -> None:
    async def main() -> None:
        adds = [Add(INSTANCES[0], 0.0, None, None)] * 500
        play = Play(Plan(adds, (), 100, 10_000, 100_000.0, -10.0, 0.0))
        closed = await play.first()
        assert (closed.acknowledged, closed.unacknowledged) == (500, ())
        assert play.service.too_far_ahead == 0

    run_virtually(main)


def test_unknown_newest_observation_throttles_once() -> None:
    async def main() -> None:
        adds = [Add(INSTANCES[0], 0.0, None, None)] * 50
        play = Play(Plan(adds, (), 10, 10_000, 100_000.0, 5.0, 0.0))
        closed = await play.first()
        assert (closed.acknowledged, play.service.throttled) == (50, 1)

    run_virtually(main)


def test_buffer_survives_a_long_outage() -> None:
    """Six hours with faults, far less than a key's lifetime."""

    async def main() -> None:
        adds = [Add(INSTANCES[n % 3], 0.0, None, None) for n in range(30)]
        plan = Plan(adds, (), 100, 10_000, 100_000.0, -10.0, 0.0)
        play = Play(plan)
        faults: list[Fault] = ["lost after", "silent before", "refused", "unknown after"]
        play.service._faults = chain(faults * 500, repeat("fine"))
        closed = await play.first()
        assert (closed.acknowledged, closed.unacknowledged) == (30, ())

    run_virtually(main)
