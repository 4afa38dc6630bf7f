"""Fleet calls as pure functions: parts of a list, observations to repeat, merged results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from identity_engine._core.call import json_of, plain
from identity_engine._core.uuid7 import uuid7
from identity_engine._generated import FleetRefusal, FleetResult, FleetSummary, ProcessedFleet
from identity_engine.errors import ApiError, ConfigurationError, IdentityEngineError
from identity_engine.results import Result

OBSERVATIONS_MAX = 1_000
"""Maximum observations of a call. Source: interface 8.4."""

BODY_BYTES_MAX = 1_048_576 - 64
"""Maximum body of a call without its frame, in bytes. Source: interface 8.4."""

Item = Mapping[str, Any]
"""An observation with its key."""


def keyed(observation: object) -> Item:
    """A copy of an observation, with its own key or a new key."""
    item = plain(observation, in_order=True)
    if not isinstance(item, dict):
        raise ConfigurationError("an observation must be a model or a mapping")
    return item if "idempotency_key" in item else {**item, "idempotency_key": uuid7()}


def parts_of(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Divides observations into bodies that the service accepts; an empty list is one part."""
    part: list[Item] = []
    size = 0
    for item in items:
        item_size = len(json_of(item)) + 1
        if part and (len(part) == OBSERVATIONS_MAX or size + item_size > BODY_BYTES_MAX):
            yield part
            part, size = [], 0
        part.append(item)
        size += item_size
    yield part


def passing(results: Sequence[FleetResult]) -> list[int]:
    """Indexes of the observations whose repetition may have another result.

    These are failures of the service, and observations after these failures.
    """
    ended: set[str | None] = set()
    again: list[int] = []
    for index, result in enumerate(results):
        is_refused = result.status == "refused"
        is_failed = result.status == "unknown" or (is_refused and (result.http_status or 0) >= 500)
        is_behind = result.status == "not_attempted" and result.instance_id not in ended
        if is_failed or is_behind:
            again.append(index)
        elif is_refused:
            ended.add(result.instance_id)
    return again


def retry_after_s_of(results: Sequence[FleetResult], again: Sequence[int]) -> float:
    """Longest delay that the results request, in seconds."""
    return max(float(results[index].retry_after or 0) for index in again)


def at(result: FleetResult, index: int) -> FleetResult:
    """The result with another index."""
    return result.model_copy(update={"index": index})


FINAL_CODES = frozenset({"unauthorized", "forbidden", "not_found", "invalid_request"})
"""Codes of refusals after which the same call is refused again."""


def failed(item: Item, error: IdentityEngineError) -> FleetResult:
    """Result of an observation whose call failed."""
    code = error.code if isinstance(error, ApiError) else "service_unavailable"
    refusal = FleetRefusal(error=code, message=str(error))
    if error.may_have_happened:
        return _result_of(item, "unknown", "same_key", refusal)
    result = _result_of(item, "not_attempted", "never" if code in FINAL_CODES else "after", refusal)
    wait_s = error.retry_after_s if isinstance(error, ApiError) else None
    return result if wait_s is None else result.model_copy(update={"retry_after": round(wait_s)})


def not_attempted(item: Item) -> FleetResult:
    """Result of an observation that was not sent."""
    return _result_of(item, "not_attempted", "after", None)


def _result_of(item: Item, status: str, retry: str, refusal: FleetRefusal | None) -> FleetResult:
    return FleetResult(
        index=0,
        instance_id=item.get("instance_id"),
        idempotency_key=item.get("idempotency_key"),
        status=status,
        retry=retry,
        refusal=refusal,
    )


def is_open(result: FleetResult) -> bool:
    """Whether later observations of the instance must wait for this observation."""
    return result.status in ("unknown", "refused", "not_attempted")


def merged(
    last: Result[ProcessedFleet], results: Sequence[FleetResult], attempts: int
) -> Result[ProcessedFleet]:
    """The results of several calls, with the facts of the last answer."""
    statuses = ("applied", "replayed", "throttled", "refused", "unknown", "not_attempted")
    counts = dict.fromkeys(statuses, 0)
    for result in results:
        counts[result.status] = counts.get(result.status, 0) + 1
    data = ProcessedFleet(summary=FleetSummary(**counts), results=list(results))
    return replace(last, data=data, attempts=attempts)
