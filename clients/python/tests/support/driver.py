"""Sends calls to a service for some seconds, and writes each call with its outcome as JSON.

The service's crash test (``test/clients/crash``) compares these lines with the stores, to prove
that no call was lost or applied twice. Address and key come from the environment.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, TypeVar

import httpx

from call_line import (
    Outcome,
    SentObservation,
    outcome_of_error,
    outcome_of_fleet_result,
    outcome_of_result,
    write_line,
)
from identity_engine import (
    AsyncIdentityEngine,
    AsyncObservationBuffer,
    IdentityEngineError,
    Result,
)
from identity_engine.models import CreatedInstance, ResetMode
from recorded_wire import RecordedWire, Traffic

R = TypeVar("R", bound=Result[Any])

PAUSE_S = 0.06
"""Pause of an agent between two calls, in seconds."""

CLOSE_S = 60.0
"""Maximum wait for pending calls at the end, in seconds."""

STEP_MS = 60_000
"""Interval between timestamps, in milliseconds."""

SINCE_MS = int(time.time() * 1_000) - 200 * 24 * 3_600_000
"""First timestamp: before any create or reset."""

RESET_MODES: tuple[ResetMode, ...] = ("initial", "default")

MODES = (
    "PERCEPTION",
    "EXPLORATION",
    "ORDER",
    "ASSERTION",
    "CONNECTION",
    "IDENTITY",
    "STRESS_RESPONSE",
)


SUPERSEDED: Outcome = {"kind": "superseded"}
"""Outcome of an applied observation whose answer has no ETag."""

MAYBE_ONE_VERSION: Outcome = {"kind": "unknown", "why": "perhaps in one version with another"}
"""Outcome of an observation that perhaps shares its version with another observation."""


class Subject:
    """An instance, with the number of observations that determines the next timestamp."""

    def __init__(self, id: str) -> None:
        self.id = id
        self._sent = 0

    def next(self) -> SentObservation:
        self._sent += 1
        return {
            "mark": f"{self.id[-8:]}.{self._sent}",
            "mode": random.randrange(len(MODES)),
            "signal": hundredth(),
            "confidence": hundredth(),
            "timestampMs": SINCE_MS + self._sent * STEP_MS,
        }


class Driver:
    """Makes the calls of one run."""

    def __init__(self, client: AsyncIdentityEngine, wire: RecordedWire, seconds: float) -> None:
        self._client = client
        self._wire = wire
        self._end_s = time.monotonic() + seconds
        self._calls = 0

    async def agent(self) -> None:
        """Makes one call after another on its own instance until the run ends."""
        subject = Subject(await self._create())
        while time.monotonic() < self._end_s:
            await asyncio.sleep(random.random() * 2 * PAUSE_S)
            if not await self._step(subject):
                subject = Subject(await self._create())

    async def buffered(self, count: int) -> None:
        """Sends observations for several instances through one buffer."""
        subjects = [Subject(await self._create()) for _ in range(count)]
        buffer = AsyncObservationBuffer(
            self._client,
            on_acknowledged=lambda batch: self._batch_ended(
                batch.instance_id,
                batch.observations,
                lambda traffic: outcome_of_result(batch.result.etag, None, traffic),
            ),
            on_rejected=lambda rejected: self._batch_ended(
                rejected.instance_id,
                [rejected.observation],
                lambda _: outcome_of_error(rejected.error),
            ),
        )
        while time.monotonic() < self._end_s:
            subject = random.choice(subjects)
            await buffer.add(subject.id, body_of(subject.next()))
            await asyncio.sleep(PAUSE_S / 4)
        left = await buffer.close(timeout_s=CLOSE_S)
        for batch in left.unacknowledged:
            outcome_of = left_open if batch.may_have_happened else never_sent
            self._batch_ended(batch.instance_id, batch.observations, outcome_of)

    async def fleet(self, count: int) -> None:
        """Sends observations for several instances in fleet calls, and logs each as a call."""
        subjects = [Subject(await self._create()) for _ in range(count)]
        while time.monotonic() < self._end_s:
            await asyncio.sleep(random.random() * 2 * PAUSE_S)
            chosen = [each for each in subjects for _ in range(3) if random.random() < 0.5]
            sent = [(each.id, each.next()) for each in chosen]
            if sent:
                await self._send_fleet(sent)

    async def _send_fleet(self, sent: Sequence[tuple[str, SentObservation]]) -> None:
        self._calls += 1
        request_id = f"call-of-driver-{self._calls}"
        observations = [{"instance_id": id, **body_of(each)} for id, each in sent]
        try:
            answer = await self._client.process(observations, request_id=request_id)
            outcomes = [outcome_of_fleet_result(each) for each in answer.data.results]
        except IdentityEngineError as error:
            outcomes = [outcome_of_error(error)] * len(sent)
        traffic = self._wire.take(request_id)
        for (id, each), outcome in zip(sent, outcomes, strict=True):
            self._write_process(id, [each], traffic, outcome, is_batch=False)

    async def _step(self, subject: Subject) -> bool:
        """Makes one call. Returns False after deleting the instance."""
        id = subject.id
        instance = self._client.instance(id)
        chance = random.random()
        if chance < 0.05:
            await self._called({"kind": "read"}, id, lambda r: instance.snapshot(request_id=r))
        elif chance < 0.08:
            name = f"n{self._calls + 1}"
            await self._called(
                {"kind": "rename", "name": name},
                id,
                lambda r: self._client.instances.update(id, name=name, request_id=r),
            )
        elif chance < 0.11:
            mode = random.choice(RESET_MODES)
            await self._called(
                {"kind": "reset", "mode": mode},
                id,
                lambda r: instance.reset(mode, request_id=r),
            )
        elif chance < 0.13:
            await self._called(
                {"kind": "remove"},
                id,
                lambda r: self._client.instances.delete(id, request_id=r),
            )
            return False
        else:
            await self._observe(subject, random.randrange(2, 8) if chance < 0.25 else 1)
        return True

    async def _observe(self, subject: Subject, count: int) -> None:
        observations = [subject.next() for _ in range(count)]
        bodies = [body_of(observation) for observation in observations]
        is_batch = count > 1
        is_every = is_batch and random.random() < 0.3
        requested = process_of(observations, is_batch=is_batch, is_every=is_every)
        instance = self._client.instance(subject.id)

        async def make(request_id: str) -> Result[Any]:
            if not is_batch:
                return await instance.process(bodies[0], request_id=request_id)
            if is_every:
                return await instance.process_batch(
                    bodies, include_intermediate=True, request_id=request_id
                )
            return await instance.process_batch(bodies, request_id=request_id)

        await self._called(requested, subject.id, make)

    async def _create(self) -> str:
        """Creates an instance, with retries until success. Returns its id."""
        strengths = [hundredth() for _ in MODES]
        energy = hundredth()
        config = {
            "mode_strengths": {mode.lower(): s for mode, s in zip(MODES, strengths, strict=True)},
            "energy_level": energy,
        }

        async def make(request_id: str) -> Result[CreatedInstance]:
            # `_called` assigns the call number before it calls this function.
            name = f"n{self._calls}"
            return await self._client.instances.create(
                name, initial_config=config, request_id=request_id
            )

        while True:
            name = f"n{self._calls + 1}"
            made = await self._called(
                {
                    "kind": "create",
                    "name": name,
                    "modeStrengths": strengths,
                    "energyLevel": energy,
                },
                None,
                make,
            )
            if made is not None:
                return made.data.id

    async def _called(
        self,
        requested: dict[str, Any],
        instance: str | None,
        make: Callable[[str], Awaitable[R]],
    ) -> R | None:
        """Makes a call and logs it. Returns None after an error."""
        self._calls += 1
        id = self._calls
        request_id = f"call-of-driver-{id}"
        try:
            result = await make(request_id)
        except IdentityEngineError as error:
            traffic = self._wire.take(request_id)
            write_line(id, requested, instance or "", traffic, outcome_of_error(error))
            return None
        traffic = self._wire.take(request_id)
        outcome = outcome_of_result(result.etag, getattr(result, "throttled", None), traffic)
        write_line(id, requested, instance or result.data.id, traffic, outcome)
        return result

    def _batch_ended(
        self,
        instance: str,
        observations: Sequence[Mapping[str, Any]],
        outcome_of: Callable[[Any], Outcome],
    ) -> None:
        """Logs a batch as one call, or as a call for each observation.

        If any attempt was a fleet call, the service wrote a version for each observation.
        """
        taken = [self._wire.take(each["context"]["mark"]) for each in observations]
        traffic = taken[0]
        outcome = outcome_of(traffic)
        sent = [sent_of(body) for body in observations]
        if traffic is None or not any(each and each.is_fleet for each in taken):
            self._write_process(instance, sent, traffic, outcome, is_batch=True)
            return
        # A later attempt for one instance may have written the rest of the batch as one version.
        is_rest_uncertain = any(each and each.is_single for each in taken)
        for at, observation in enumerate(sent):
            happened = MAYBE_ONE_VERSION if is_rest_uncertain and at > 0 else SUPERSEDED
            known = happened if outcome["kind"] == "acknowledged" else outcome
            unkeyed = replace(traffic, key=None)
            self._write_process(instance, [observation], unkeyed, known, is_batch=False)

    def _write_process(
        self,
        instance: str,
        sent: Sequence[SentObservation],
        traffic: Traffic | None,
        outcome: Outcome,
        *,
        is_batch: bool,
    ) -> None:
        self._calls += 1
        requested = {**process_of(sent, is_batch=is_batch), "hasItemKeys": True}
        write_line(self._calls, requested, instance, traffic, outcome)


def left_open(_: object) -> Outcome:
    """Outcome of a returned batch that may have been applied."""
    return {"kind": "unknown", "why": "handed back"}


def never_sent(_: object) -> Outcome:
    """Outcome of a returned batch that was not applied."""
    return {"kind": "refused", "status": 0, "reason": "handed_back"}


def hundredth() -> float:
    """Returns a random multiple of 0.01 from 0 to 1."""
    return random.randrange(101) / 100


def process_of(
    observations: Sequence[SentObservation], *, is_batch: bool, is_every: bool = False
) -> dict[str, Any]:
    """Returns the request to log for observations."""
    return {
        "kind": "process",
        "observations": observations,
        "isBatch": is_batch,
        "isEveryStateWanted": is_every,
    }


def body_of(sent: SentObservation) -> dict[str, Any]:
    """Converts a logged observation to the client's form."""
    time_ = datetime.fromtimestamp(sent["timestampMs"] / 1_000, timezone.utc)
    return {
        "mode_target": MODES[sent["mode"]],
        "signal_strength": sent["signal"],
        "confidence": sent["confidence"],
        "context": {"mark": sent["mark"]},
        "timestamp": time_.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def sent_of(body: Mapping[str, Any]) -> SentObservation:
    """Converts an observation in the client's form to a logged observation."""
    time_ = datetime.fromisoformat(body["timestamp"].replace("Z", "+00:00"))
    return {
        "mark": body["context"]["mark"],
        "mode": MODES.index(body["mode_target"]),
        "signal": body["signal_strength"],
        "confidence": body["confidence"],
        "timestampMs": round(time_.timestamp() * 1_000),
    }


async def main() -> None:
    """Runs all agents and the buffer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--buffered", type=int, default=8)
    parser.add_argument("--fleet", type=int, default=8)
    parser.add_argument("--lose", type=float, default=0)
    parser.add_argument("--new-keys", action="store_true")
    options = parser.parse_args()
    wire = RecordedWire(lost_share=options.lose, has_new_keys=options.new_keys)
    async with (
        httpx.AsyncClient(transport=wire) as http,
        AsyncIdentityEngine(http_client=http) as client,
    ):
        driver = Driver(client, wire, options.seconds)
        agents = [driver.agent() for _ in range(options.agents)]
        others = [driver.buffered(options.buffered), driver.fleet(options.fleet)]
        await asyncio.gather(*agents, *others)


if __name__ == "__main__":
    asyncio.run(main())
