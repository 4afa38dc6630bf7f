"""Sends observations of many instances."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from identity_engine._core.call import Repeatable, send
from identity_engine._core.envelope import One, result_of
from identity_engine._core.fleet import (
    Item,
    at,
    failed,
    is_open,
    keyed,
    merged,
    not_attempted,
    parts_of,
    passing,
    retry_after_s_of,
)
from identity_engine._core.retry import WAIT_S_MIN, wait_s_after
from identity_engine._core.sync_io import sleep
from identity_engine._generated import FleetResult, ProcessedFleet
from identity_engine._sync.caller import Caller
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


class FleetCalls:
    """Sends the fleet calls of one list of observations.

    Each call has at most 1,000 observations. Observations that failed for a passing reason are
    repeated with their keys.
    """

    def __init__(
        self,
        caller: Caller,
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
        self._last: Result[ProcessedFleet] | None = None
        self._failure: IdentityEngineError | None = None
        """Failure of a call, after which nothing is sent."""

    def process(self, observations: Sequence[object]) -> Result[ProcessedFleet]:
        """Sends all observations. Raises the error of the first call.

        If a later call fails, its observations are ``unknown`` or ``not_attempted``.
        """
        results: list[FleetResult] = []
        # Instances whose later observations are not sent, to keep their order.
        blocked: set[object] = set()
        for part in parts_of([keyed(each) for each in observations]):
            is_sent = [
                self._failure is None and item.get("instance_id") not in blocked for item in part
            ]
            sent = [item for item, is_in in zip(part, is_sent, strict=True) if is_in]
            answers = iter(self._answers_to(sent) if sent or self._last is None else ())
            for item, is_in in zip(part, is_sent, strict=True):
                result = next(answers) if is_in else not_attempted(item)
                if is_open(result):
                    blocked.add(item.get("instance_id"))
                results.append(at(result, len(results)))
        assert self._last is not None, "there is always a call"
        return merged(self._last, results, self._attempts)

    def _answers_to(self, sent: Sequence[Item]) -> Sequence[FleetResult]:
        try:
            self._last = self._process_part(sent)
        except FAILED_CALL as error:
            # The results of earlier calls must not be lost.
            if self._last is None:
                raise
            self._failure = error
            return [failed(item, error) for item in sent]
        return self._last.data.results

    def _process_part(self, items: Sequence[Item]) -> Result[ProcessedFleet]:
        ends_s = time.monotonic() + self._bounds.timeout_s
        before = self._attempts
        result = self._send(items, self._bounds.timeout_s, self._bounds.attempts_max)
        results = list(result.data.results)
        rounds = 0
        while again := passing(results):
            rounds += 1
            wait_s = wait_s_after(rounds, retry_after_s_of(results, again), random.random)
            left_s = ends_s - time.monotonic() - wait_s
            attempts_max = self._bounds.attempts_max
            if attempts_max is not None:
                attempts_max -= self._attempts - before
            if (attempts_max is not None and attempts_max < 1) or left_s <= WAIT_S_MIN:
                break
            sleep(wait_s)
            try:
                result = self._send([items[index] for index in again], left_s, attempts_max)
            except FAILED_CALL:
                break
            for index, each in zip(again, result.data.results, strict=True):
                results[index] = at(each, index)
        return merged(result, results, self._attempts)

    def _send(
        self, items: Sequence[Item], timeout_s: float, attempts_max: int | None
    ) -> Result[ProcessedFleet]:
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
            answer = self._caller.send(call, timeout_s, attempts_max)
        except IdentityEngineError as error:
            self._attempts += error.attempts
            raise
        self._attempts += answer.attempts
        result = result_of(answer, _FLEET)
        if len(result.data.results) != len(items):
            malformed = MalformedAnswerError(
                "the answer has another number of results",
                status=result.status,
                request_id=result.request_id,
            )
            malformed.may_have_happened = True
            raise malformed
        return result


_FLEET = One[ProcessedFleet]
