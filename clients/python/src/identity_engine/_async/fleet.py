"""Sends observations of many instances."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from identity_engine._async.caller import AsyncCaller
from identity_engine._core.async_io import sleep
from identity_engine._core.call import Repeatable, send
from identity_engine._core.envelope import One, result_of
from identity_engine._core.fleet import (
    Item,
    at,
    failed,
    keyed,
    merged,
    parts_of,
    passing,
    retry_after_s_of,
)
from identity_engine._core.retry import WAIT_S_MAX, WAIT_S_MIN
from identity_engine._generated import FleetResult, ProcessedFleet
from identity_engine.errors import (
    ApiError,
    ConnectionError,
    DeadlineError,
    IdentityEngineError,
    MalformedAnswerError,
)
from identity_engine.results import Result

FAILED_CALL = (ApiError, ConnectionError, DeadlineError, MalformedAnswerError)
"""Errors of a call that was sent."""


class AsyncFleetCalls:
    """Sends the fleet calls of one list of observations.

    Each call has at most 1,000 observations. Observations that failed for a passing reason are
    repeated with their keys.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        *,
        include_state: bool,
        request_id: str | None,
        timeout_s: float | None,
        attempts_max: int | None,
    ) -> None:
        self._caller = caller
        self._include_state = include_state
        self._request_id = request_id
        self._bounds = caller.settings.bounds_of(timeout_s, attempts_max)
        self._attempts = 0

    async def process(self, observations: Sequence[object]) -> Result[ProcessedFleet]:
        """Sends all observations. Raises if no call gets an answer."""
        items = [keyed(each) for each in observations]
        results: list[FleetResult] = []
        last: Result[ProcessedFleet] | None = None
        for part in parts_of(items):
            first = len(results)
            try:
                last = await self._process_part(part)
            except FAILED_CALL as error:
                # The results of earlier calls must not be lost.
                if last is None:
                    raise
                results += [
                    failed(item, first + index, error, is_sent=index < len(part))
                    for index, item in enumerate(items[first:])
                ]
                break
            results += [at(each, first + each.index) for each in last.data.results]
        assert last is not None, "there is always a call"
        return merged(last, results, self._attempts)

    async def _process_part(self, items: Sequence[Item]) -> Result[ProcessedFleet]:
        ends_s = time.monotonic() + self._bounds.timeout_s
        result = await self._send(items, self._bounds.timeout_s)
        results = list(result.data.results)
        rounds = 0
        while again := passing(results):
            rounds += 1
            step_s = min(WAIT_S_MAX, WAIT_S_MIN * 2.0 ** min(rounds - 1, 16))
            wait_s = max(random.random() * step_s, retry_after_s_of(results, again))
            left_s = ends_s - time.monotonic() - wait_s
            is_last = self._bounds.attempts_max is not None and rounds >= self._bounds.attempts_max
            if is_last or left_s <= WAIT_S_MIN:
                break
            await sleep(wait_s)
            try:
                result = await self._send([items[index] for index in again], left_s)
            except FAILED_CALL:
                break
            for index, each in zip(again, result.data.results, strict=True):
                results[index] = at(each, index)
        return merged(result, results, self._attempts)

    async def _send(self, items: Sequence[Item], timeout_s: float) -> Result[ProcessedFleet]:
        body: dict[str, object] = {"observations": list(items)}
        if self._include_state:
            body["include_state"] = True
        call = send(
            "POST",
            "/process",
            body,
            Repeatable.ALWAYS,
            request_id=self._request_id,
            in_order=True,
        )
        try:
            answer = await self._caller.send(call, timeout_s, self._bounds.attempts_max)
        except IdentityEngineError as error:
            self._attempts += error.attempts
            raise
        self._attempts += answer.attempts
        return result_of(answer, _FLEET)


_FLEET = One[ProcessedFleet]
