"""Model of the service's batch route, with injected faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, Literal

import httpx

from identity_engine._buffer.item import time_ms

Fault = Literal[
    "fine",
    "slow",
    "refused",
    "lost before",
    "lost after",
    "silent before",
    "silent after",
    "applied late",
    "500 before",
    "500 after",
    "unknown before",
    "unknown after",
    "overloaded",
    "rate limited",
    "quota",
    "proxy before",
    "proxy after",
    "cut answer",
    "foreign 404 before",
    "foreign 404 after",
    "other count",
    "no data after",
]
"""Faults of the service or the network.

``before``: the batch is not applied. ``after``: the batch is applied, but the answer is lost.
"""

FUTURE_MS_MAX = 300_000
INTERVAL_MS = 1_000
WRONG_WITHOUT_INDEX = 8
"""Signal strength of an observation whose refusal names no index, as for too deep nesting."""
OF_THE_SERVICE = {"X-Request-Id": "req_0123456789abcdef"}


class ModelService(httpx.AsyncBaseTransport):
    """Answers batches as the service does. ``applied``: applied observations by instance."""

    def __init__(self, faults: Iterator[Fault], now_ms: Callable[[], int]) -> None:
        self._faults = faults
        self._now_ms = now_ms
        self._answers: dict[str, tuple[bytes, httpx.Response]] = {}
        self._known: dict[str, dict[str, Any]] = {}
        self._late: set[asyncio.Task[Any]] = set()
        self._open: dict[str, int] = {}
        self.newest_ms: dict[str, int] = {}
        self.applied: dict[str, list[dict[str, Any]]] = {}
        self.missing: set[str] = set()
        self.is_key_valid = True
        self.throttled = 0
        self.too_far_ahead = 0
        self.most_at_once = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        fault: Fault = next(self._faults, "fine")
        instance = request.url.path.split("/")[3]
        self._open[instance] = self._open.get(instance, 0) + 1
        assert self._open[instance] == 1, "two batches of an instance are in flight"
        self.most_at_once = max(self.most_at_once, sum(self._open.values()))
        try:
            return await self._faulty(fault, instance, request)
        finally:
            self._open[instance] -= 1

    async def _faulty(self, fault: Fault, instance: str, request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.7 if fault == "slow" else 0.002)
        if fault == "refused":
            raise httpx.ConnectError("refused")
        if fault == "applied late":
            task = asyncio.create_task(self._apply_late(instance, request))
            self._late.add(task)
            raise httpx.ReadError("reset")
        certain = _certain(fault)
        if certain is not None:
            return certain
        is_applied = fault in ("fine", "slow", "cut answer", "other count") or fault.endswith(
            "after"
        )
        answer = self._answer(instance, request) if is_applied else None
        if answer is not None and fault in ("fine", "slow"):
            return answer
        return await _lost(fault)

    async def _apply_late(self, instance: str, request: httpx.Request) -> None:
        await asyncio.sleep(1.5)
        self._answer(instance, request)

    def _answer(self, instance: str, request: httpx.Request) -> httpx.Response:
        key = request.headers["idempotency-key"]
        observations = json.loads(request.content)["observations"]
        assert 1 <= len(observations) <= 100
        assert len(request.content) <= 256 * 1_024
        if not self.is_key_valid:
            return refusal(401, "unauthorized")
        wrong = self._wrong(observations)
        if wrong is not None:
            return wrong
        if key in self._answers:
            body, stored = self._answers[key]
            assert body == request.content, "a key was reused with another body"
            return stored
        if instance in self.missing:
            return refusal(404, "not_found")
        known = self._known.setdefault(instance, {})
        results: list[dict[str, Any]] = []
        for index, each in enumerate(observations):
            stored_as = known.get(each["idempotency_key"])
            if stored_as is not None and stored_as != each:
                field = f"observations[{index}].idempotency_key"
                return refusal(422, "invalid_request", field, "idempotency_key_reused")
            results.append(
                {"index": index, "status": "applied" if stored_as is None else "replayed"}
            )
        fresh = [
            each
            for each, result in zip(observations, results, strict=True)
            if result["status"] == "applied"
        ]
        if not fresh:
            return processed(0, {"Idempotent-Replayed": "true"}, results)
        times = [time_ms(each["timestamp"]) for each in fresh]
        newest = self.newest_ms.get(instance)
        if newest is not None and times[0] < newest + INTERVAL_MS:
            self.throttled += 1
            wait_s = -(-(newest + INTERVAL_MS - times[0]) // 1_000)
            headers = {"X-Throttled": "true", "Retry-After": str(max(1, wait_s))}
            for result in results:
                if result["status"] == "applied":
                    result["status"] = "throttled"
            return processed(0, headers, results)
        self.applied.setdefault(instance, []).extend(fresh)
        known.update({each["idempotency_key"]: each for each in fresh})
        self.newest_ms[instance] = times[-1]
        answer = processed(len(fresh), {}, results)
        self._answers[key] = (request.content, answer)
        return answer

    def _wrong(self, observations: list[dict[str, Any]]) -> httpx.Response | None:
        previous: int | None = None
        for index, each in enumerate(observations):
            field = f"observations[{index}]"
            at = time_ms(each["timestamp"])
            if each["signal_strength"] == WRONG_WITHOUT_INDEX:
                return refusal(422, "invalid_request", None, "too_deep")
            if not 0 <= each["signal_strength"] <= 1:
                return refusal(422, "invalid_request", f"{field}.signal_strength", "out_of_range")
            if at > self._now_ms() + FUTURE_MS_MAX:
                self.too_far_ahead += 1
                return refusal(422, "invalid_request", f"{field}.timestamp", "timestamp_in_future")
            assert previous is None or at >= previous + INTERVAL_MS, (
                "timestamps in a batch are too close"
            )
            previous = at
        return None


def _certain(fault: Fault) -> httpx.Response | None:
    """Returns the answer for a fault that certainly has no effect; None for other faults."""
    match fault:
        case "overloaded":
            return refusal(503, "service_unavailable", None, "overloaded", retry_after=1)
        case "rate limited":
            return refusal(429, "rate_limited", retry_after=2)
        case "quota":
            return refusal(429, "quota_exceeded", retry_after=90)
    return None


async def _lost(fault: Fault) -> httpx.Response:
    """Ends a call with an unknown outcome."""
    kind = fault.split(" ")[0]
    if kind == "lost":
        raise httpx.ReadError("reset")
    if kind == "cut":
        raise httpx.RemoteProtocolError("cut off")
    if kind == "silent":
        await asyncio.sleep(3_600)
    if kind == "foreign":
        return httpx.Response(404, json={"error": "not_found", "message": "no route"})
    if kind == "other":
        return processed(0, {})
    if kind == "no":
        return httpx.Response(204, headers=OF_THE_SERVICE)
    if kind == "500":
        return refusal(500, "internal")
    if kind == "unknown":
        return refusal(503, "service_unavailable", None, "outcome_unknown", retry_after=1)
    return httpx.Response(502, content=b"<html>Bad Gateway</html>")


def processed(
    count: int, headers: dict[str, str], results: list[dict[str, Any]] | None = None
) -> httpx.Response:
    from test_guard import state

    body: dict[str, Any] = {"data": {**state(), "processed_count": count}}
    if results is not None:
        body["data"]["results"] = results
    return httpx.Response(200, headers={**OF_THE_SERVICE, **headers}, json=body)


def refusal(
    status: int,
    code: str,
    field: str | None = None,
    reason: str | None = None,
    retry_after: int | None = None,
) -> httpx.Response:
    details = {"field": field, "reason": reason}
    given = {name: value for name, value in details.items() if value is not None}
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    headers |= OF_THE_SERVICE
    body = {"error": code, "message": code, "details": given}
    return httpx.Response(status, headers=headers, json=body)
