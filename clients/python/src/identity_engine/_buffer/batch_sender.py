"""Sends batches. Small batches of several instances that are due together share a fleet call."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from identity_engine.errors import (
    ERROR_CLASSES,
    ApiError,
    IdentityEngineError,
    InvalidRequestError,
    NotFoundError,
)
from identity_engine.models import BatchProcessed, FleetResult, ProcessedFleet
from identity_engine.results import Observed, Result, Throttled

JOINING_MAX = 4
"""Maximum observations of a batch that joins a fleet call.

A larger batch costs less as a call of its own, because the service applies a batch in one piece.
"""

FLEET_MAX = 100
"""Maximum observations of a fleet call. The largest observations then fit into its body."""

JOIN_SHARE = 0.1
"""Share of the maximum delay for which a small batch waits for batches of other instances."""

Observations = Sequence[dict[str, Any]]
Send = Callable[[str, Observations, str], Awaitable[Observed[BatchProcessed]]]
"""Function that sends observations of an instance under a key."""

SendFleet = Callable[[Observations], Awaitable[Result[ProcessedFleet]]]
"""Function that sends observations of several instances."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A batch that waits for batches of other instances."""

    instance_id: str
    observations: Observations
    key: str
    answer: asyncio.Future[Observed[BatchProcessed]]


class BatchSender:
    """Sends the batches of one buffer, on one event loop.

    Args:
        send: Sends a batch alone.
        send_fleet: Sends a fleet call.
        saw: Called with the instance, the state and the monotonic start of each answered batch.
        join_s: Time to wait for batches of other instances, in seconds.
        is_shared: Whether batches may share calls.
    """

    def __init__(
        self,
        send: Send,
        send_fleet: SendFleet,
        saw: Callable[[str, BatchProcessed, float], None],
        *,
        join_s: float,
        is_shared: bool,
    ) -> None:
        self._send = send
        self._send_fleet = send_fleet
        self._saw = saw
        self._join_s = join_s
        self._is_shared = is_shared
        """Whether batches may share calls, and the service serves fleet calls."""
        self._waiting: list[_Waiting] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def send(
        self, instance_id: str, observations: Observations, key: str
    ) -> Observed[BatchProcessed]:
        """Sends a batch. Raises the errors of ``instance.process_batch``."""
        if not self._is_shared or len(observations) > JOINING_MAX:
            return await self._send(instance_id, observations, key)
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(self._join_s, self._flush)
        waiting = _Waiting(instance_id, observations, key, loop.create_future())
        self._waiting.append(waiting)
        return await waiting.answer

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        together: list[_Waiting] = []
        count = 0
        for each in waiting:
            if each.answer.done():
                continue
            count += len(each.observations)
            if count > FLEET_MAX:
                self._start(together)
                together, count = [], len(each.observations)
            together.append(each)
        self._start(together)

    def _start(self, together: list[_Waiting]) -> None:
        if not together:
            return
        task = asyncio.create_task(self._send_together(together))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

        def cancel(_: object) -> None:
            if all(each.answer.cancelled() for each in together):
                task.cancel()

        for each in together:
            each.answer.add_done_callback(cancel)

    async def _send_together(self, together: Sequence[_Waiting]) -> None:
        if len(together) == 1 or not self._is_shared:
            await self._send_alone(together)
            return
        observations = [
            {**each, "instance_id": batch.instance_id}
            for batch in together
            for each in batch.observations
        ]
        began_s = time.monotonic()
        try:
            answer = await self._send_fleet(observations)
        except (NotFoundError, InvalidRequestError):
            # The service, or its release, does not serve fleet calls.
            self._is_shared = False
            await self._send_alone(together)
        except Exception as error:
            for each in together:
                _refuse(each, error)
        else:
            self._settle(together, answer, began_s)

    async def _send_alone(self, together: Sequence[_Waiting]) -> None:
        await asyncio.gather(*map(self._one_alone, together))

    async def _one_alone(self, waiting: _Waiting) -> None:
        try:
            answer = await self._send(waiting.instance_id, waiting.observations, waiting.key)
        except Exception as error:
            _refuse(waiting, error)
        else:
            if not waiting.answer.done():
                waiting.answer.set_result(answer)

    def _settle(
        self, together: Sequence[_Waiting], answer: Result[ProcessedFleet], began_s: float
    ) -> None:
        """Gives each batch its results."""
        results = iter(answer.data.results)
        for batch in together:
            of_batch = [next(results) for _ in batch.observations]
            try:
                observed = _batch_result_of(of_batch, answer)
            except IdentityEngineError as error:
                _refuse(batch, error)
                continue
            self._saw(batch.instance_id, observed.data, began_s)
            if not batch.answer.done():
                batch.answer.set_result(observed)


def _refuse(waiting: _Waiting, error: Exception) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(error)


def _is_applied(result: FleetResult) -> bool:
    return result.status in ("applied", "replayed")


def _batch_result_of(
    results: Sequence[FleetResult], answer: Result[ProcessedFleet]
) -> Observed[BatchProcessed]:
    """Result of a batch in a fleet call. Raises the refusal of the batch."""
    problem = next((each for each in results if not _is_applied(each)), None)
    if problem is not None and problem.status != "throttled":
        raise _refusal_of(problem, results.index(problem), answer)
    last = results[-1]
    known = None if problem is None else "replayed"
    data = BatchProcessed.model_validate(
        {
            "snapshot": last.snapshot,
            "contract": last.contract,
            "drift": last.drift,
            "processed_count": 0 if problem else sum(each.status == "applied" for each in results),
            # Of a throttled batch, applied observations are known from now on.
            "results": [
                {
                    "index": index,
                    "status": (known or each.status) if _is_applied(each) else "throttled",
                }
                for index, each in enumerate(results)
            ],
        }
    )
    facts = {field.name: getattr(answer, field.name) for field in fields(Result)}
    throttled = None if problem is None else Throttled(float(problem.retry_after or 1))
    return Observed(**{**facts, "data": data}, throttled=throttled)


def _refusal_of(result: FleetResult, index: int, answer: Result[ProcessedFleet]) -> ApiError:
    """The error of an observation, with its field in the batch."""
    refusal = result.refusal
    code = "service_unavailable" if refusal is None else refusal.error
    details = None if refusal is None or refusal.details is None else dict(refusal.details)
    if details is not None and isinstance(details.get("field"), str):
        place = f"observations[{index}]"
        details["field"] = re.sub(r"^observations\[\d+\]", place, details["field"])
    error = ERROR_CLASSES.get(code, ApiError)(
        code=code,
        message="not attempted" if refusal is None else refusal.message,
        status=result.http_status or 503,
        request_id=answer.request_id,
        limits=answer.limits,
        headers=answer.headers,
        details=details,
        retry_after_s=None if result.retry_after is None else float(result.retry_after),
    )
    error.may_have_happened = result.status == "unknown"
    return error
