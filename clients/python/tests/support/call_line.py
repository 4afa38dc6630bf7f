"""Call log: a line of JSON per call, as in the service's ``test/chaos/load/call-log``."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from base64 import urlsafe_b64encode
from typing import Any, TypedDict

from identity_engine import ApiError, IdentityEngineError, Throttled
from identity_engine.models import FleetResult
from recorded_wire import Traffic

Outcome = dict[str, Any]
"""Outcome of a call, as a JSON object of the log."""


class SentObservation(TypedDict):
    """An observation in the call log."""

    mark: str
    mode: int
    signal: float
    confidence: float
    timestampMs: int


def write_line(
    id: int, requested: dict[str, Any], instance: str, traffic: Traffic | None, outcome: Outcome
) -> None:
    """Writes a finished call to standard output."""
    end_ms = time.perf_counter() * 1_000
    start_ms = end_ms if traffic is None else traffic.start_ms
    call = {
        "id": id,
        "requested": requested,
        "instance": instance,
        "dueMs": start_ms,
        "startMs": start_ms,
        "endMs": end_ms,
        "tries": 0 if traffic is None else traffic.attempts,
        "outcome": outcome,
    }
    if traffic is not None and traffic.key is not None:
        call["key"] = traffic.key
    sys.stdout.write(f"{json.dumps(call)}\n")


def outcome_of_result(
    etag: str | None, throttled: Throttled | None, traffic: Traffic | None
) -> Outcome:
    """Returns the outcome to log for a result."""
    if throttled is not None:
        return {"kind": "throttled", "etag": etag or ""}
    digest = hashlib.sha256(b"" if traffic is None else traffic.content).digest()
    body_hash = urlsafe_b64encode(digest).decode()[:22]
    return {"kind": "acknowledged", "etag": etag or "", "bodyHash": body_hash}


def outcome_of_error(error: IdentityEngineError) -> Outcome:
    """Returns the outcome to log for an error of the client."""
    if error.may_have_happened:
        return {"kind": "unknown", "why": repr(error)}
    if isinstance(error, ApiError):
        return {"kind": "refused", "status": error.status, "reason": error.reason or error.code}
    return {"kind": "refused", "status": 0, "reason": type(error).__name__}


def outcome_of_fleet_result(result: FleetResult) -> Outcome:
    """Returns the outcome to log for a result of a fleet call, which has no ETag."""
    refusal = result.refusal
    match result.status:
        case "applied" | "replayed":
            return {"kind": "superseded"}
        case "throttled":
            return {"kind": "throttled", "etag": ""}
        case "unknown":
            return {"kind": "unknown", "why": "" if refusal is None else refusal.message}
    reason = result.status if refusal is None else refusal.error
    return {"kind": "refused", "status": result.http_status or 0, "reason": reason}
