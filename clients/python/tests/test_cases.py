"""The wire cases that all client libraries share: clients/cases."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from both_clients import Kind, client_of
from identity_engine import __version__, errors
from wire_server import Fault, Reply, Request, serving

FOLDER = Path(__file__).resolve().parent.parent.parent / "cases"
OTHERS = {"case.schema.json"}
FILES = sorted(path for path in FOLDER.glob("*.json") if path.name not in OTHERS)
CASES = [
    pytest.param(case, id=case["name"])
    for path in FILES
    for case in json.loads(path.read_text("utf-8"))["cases"]
]
UUID7 = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")

CLIENT = f"identity-engine-python/{__version__}"
"""Name and version of this client."""

POSITIONAL = {
    "instances.create": ["name"],
    "instances.get": ["id"],
    "instances.update": ["id"],
    "instances.delete": ["id"],
    "instance.process": ["observation"],
    "instance.process_batch": ["observations"],
    "instance.simulate": ["observations"],
    "instance.reset": ["mode"],
    "instance.fork": ["name"],
    "personas.get": ["id"],
    "tests.submit": ["answers"],
    "billing.checkout": ["plan"],
    "billing.portal": ["return_url"],
    "client.request": ["method", "path"],
    "client.process": ["observations"],
}
"""Parameters that the runner passes by position, as callers do."""


class Replay:
    """Answers the requests of a case in order, and records differences from the case."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self._exchanges = case["exchanges"]
        self._key = case["key"]
        self._lock = threading.Lock()
        self._names: dict[str, str] = {}
        self._first: dict[tuple[str, str], Request] = {}
        self.count = 0
        self.problems: list[str] = []

    def answer(self, request: Request) -> Reply | Fault:
        with self._lock:
            self.count += 1
            if self.count > len(self._exchanges):
                self.problems.append(f"one request too many: {request.method} {request.target}")
                return "close"
            exchange = self._exchanges[self.count - 1]
            self._compare(exchange["request"], request)
        return _reply(exchange["answer"])

    def _compare(self, wanted: Mapping[str, Any], request: Request) -> None:
        seen = (request.method, request.path, request.query)
        self._same("request", (wanted["method"], wanted["path"], wanted["query"]), seen)
        self._same("authorization", f"Bearer {self._key}", request.headers.get("authorization"))
        for name, value in wanted["headers"].items():
            self._header(name, value, request.headers.get(name))
        if "body" not in wanted:
            self._same("body", b"", request.body)
        elif request.body == b"":
            self.problems.append("the body is missing")
        else:
            self._same("body", wanted["body"], request.json)

    def _header(self, name: str, wanted: str | None, seen: str | None) -> None:
        if wanted != "{uuid7}":
            self._same(name, wanted and wanted.replace("{client}", CLIENT), seen)
        elif seen is None or UUID7.match(seen) is None:
            self.problems.append(f"{name} is not a UUIDv7: {seen}")
        else:
            self._same(f"{name} of a retry", self._names.setdefault(name, seen), seen)

    def _same(self, what: str, wanted: object, seen: object) -> None:
        if wanted != seen:
            self.problems.append(f"{what} {self.count}: {seen!r} instead of {wanted!r}")


def _reply(answer: Any) -> Reply | Fault:
    if isinstance(answer, str):
        fault: Fault = "close" if answer == "close" else "silence"
        return fault
    status, headers = answer["status"], answer["headers"]
    if "body" in answer:
        return Reply(status, headers, json.dumps(answer["body"]).encode())
    if "chunks" in answer:
        pieces = tuple(piece.encode() for piece in answer["chunks"])
        return Reply(status, headers, chunks=pieces, then=answer["after"])
    return Reply(status, headers, answer.get("text", "").encode())


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any], kind: Kind) -> None:
    replay = Replay(case)
    began_s = time.monotonic()
    with serving(replay.answer) as server:
        address = server.base_url
        with client_of(kind, address, api_key=case["key"], **case.get("client", {})) as client:
            outcome = _outcome(client, case)
    took_s = time.monotonic() - began_s
    assert replay.problems == []
    assert replay.count == len(case["exchanges"]), "requests are missing"
    assert took_s >= case["expect"].get("takes_at_least_s", 0)
    _check(case, outcome)


def _outcome(client: Any, case: Mapping[str, Any]) -> Any:
    """Makes the call. Returns the result, the error, or the items of an iterator."""
    call = case["call"]
    group, name = call["method"].split(".")
    options = dict(call.get("options") or {})
    if "headers" in options:
        client = client.with_headers(options.pop("headers"))
    target = client if group == "client" else getattr(client, group)
    if group == "instance":
        target = target(call["instance"])
    arguments = {_spelled(key): value for key, value in (call.get("arguments") or {}).items()}
    first = [arguments.pop(key) for key in POSITIONAL.get(call["method"], [])]
    try:
        result = getattr(target, name)(*first, **arguments, **options)
        if name == "events":
            return _followed(result, case["expect"])
        if name == "follow":
            return _items(result, case["expect"])
        return list(result) if name.startswith("iterate") else _with_pages(result, case["expect"])
    except errors.IdentityEngineError as error:
        return error


def _spelled(name: str) -> str:
    return "from_" if name == "from" else name


def _followed(stream: Any, expect: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the expected events, and the end of the iteration."""
    events: list[Any] = []
    error: Exception | None = None
    iterator = iter(stream)
    for _ in expect.get("events", []):
        events.append(next(iterator))
    last = stream.last_event_id
    has_ended = False
    if expect.get("ends") is True:
        try:
            has_ended = next(iterator, None) is None
        except errors.IdentityEngineError as raised:
            has_ended, error = True, raised
    stream.close() if hasattr(stream._target, "close") else stream.aclose()
    return {"events": events, "ends": has_ended, "last_event_id": last, "error": error}


def _items(stream: Any, expect: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the expected items of the account's events."""
    iterator = iter(stream)
    items = [next(iterator) for _ in expect["events"]]
    cursor = stream.cursor
    stream.close() if hasattr(stream._target, "close") else stream.aclose()
    return {"items": items, "cursor": cursor}


def _with_pages(result: Any, expect: Mapping[str, Any]) -> Any:
    """Returns the result, or all expected pages. Asserts that no page follows."""
    if "pages" not in expect:
        return result
    pages = [result]
    while len(pages) < expect["pages"]:
        pages.append(pages[-1].next())
    assert expect["pages"] == 1 or pages[-1].next() is None
    return pages


def _check(case: Mapping[str, Any], outcome: Any) -> None:
    expect = case["expect"]
    if "events" in expect:
        assert isinstance(outcome, dict), repr(outcome)
        return (_check_items if "items" in outcome else _check_events)(expect, outcome)
    if "error" in expect:
        return _check_error(expect["error"], outcome)
    assert not isinstance(outcome, Exception), repr(outcome)
    result = outcome
    if "pages" in expect:
        assert len(outcome) == expect["pages"]
        result = outcome[0]
    if "items_of" in expect:
        bodies = [case["exchanges"][number]["answer"]["body"] for number in expect["items_of"]]
        wanted_items = [item for body in bodies for item in body["data"]]
        pages = outcome if "pages" in expect else None
        items = [item for page in pages for item in page.data] if pages is not None else outcome
        _same_data(items, wanted_items)
    if "data_of" in expect:
        _same_data(result.data, case["exchanges"][expect["data_of"]]["answer"]["body"]["data"])
    if "data" in expect:
        _same_data(result.data, expect["data"])
    for name in ("status", "request_id", "etag", "is_replayed", "is_not_modified", "attempts"):
        if name in expect:
            assert getattr(result, name) == expect[name], name
    _check_headers(expect.get("headers"), result)
    if "pagination" in expect and isinstance(result.pagination, dict):
        assert result.pagination == expect["pagination"]
    elif "pagination" in expect:
        wanted = {key: value for key, value in expect["pagination"].items() if value is not None}
        assert result.pagination.model_dump(exclude_none=True) == wanted
    if "limits" in expect:
        assert _limits(result) == expect["limits"]
    if "throttled" in expect:
        throttled = None
        if result.throttled is not None:
            throttled = {"retry_after_s": result.throttled.retry_after_s}
        assert throttled == expect["throttled"]
    return None


def _check_headers(wanted: Mapping[str, str] | None, holder: Any) -> None:
    for name, value in (wanted or {}).items():
        assert holder.headers[name] == value, name


def _same_data(found: Any, wanted: Any) -> None:
    """Asserts that models have exactly the values of the JSON answer."""
    if isinstance(found, list):
        assert len(found) == len(wanted)
        for item, json_item in zip(found, wanted, strict=True):
            _same_data(item, json_item)
        return
    if not isinstance(found, BaseModel):
        assert found == wanted
        return
    assert found == TypeAdapter(type(found)).validate_python(wanted)
    assert _plain(found.model_dump(mode="json", by_alias=True, exclude_unset=True)) == _plain(
        wanted
    )


def _plain(value: Any) -> Any:
    """Normalizes times and numbers in JSON."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str) and re.match(r"^\d{4}-\d\d-\d\dT.*Z$", value):
        return re.sub(r"\.?0*Z$", "Z", value) if "." in value else value
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _limits(holder: Any) -> dict[str, Any]:
    requests = holder.limits.requests
    reset_at = requests.reset_at
    return {
        "requests": {
            "limit": requests.limit,
            "remaining": requests.remaining,
            "reset_at_unix_s": None if reset_at is None else int(reset_at.timestamp()),
        },
        "monthly_remaining": holder.limits.monthly_remaining,
    }


def _check_error(expect: Mapping[str, Any], error: Any) -> None:
    assert type(error).__name__ == expect["class"], repr(error)
    for name, wanted in expect.items():
        if name == "limits":
            assert _limits(error) == wanted
        elif name == "headers":
            _check_headers(wanted, error)
        elif name != "class":
            assert getattr(error, name) == wanted, name


def _check_events(expect: Mapping[str, Any], outcome: dict[str, Any]) -> None:
    for event, wanted in zip(outcome["events"], expect["events"], strict=True):
        assert getattr(event, "name", event.type) == wanted["event"]
        if "data" in wanted:
            _same_data(event.data, wanted["data"])
        if "id" in wanted:
            assert str(event.id) == wanted["id"]
    assert outcome["ends"] == (expect.get("ends") is True)
    assert (outcome["error"] is not None) == ("error" in expect), repr(outcome["error"])
    if "error" in expect:
        _check_error(expect["error"], outcome["error"])
    if "last_event_id" in expect:
        assert outcome["last_event_id"] == expect["last_event_id"]


def _check_items(expect: Mapping[str, Any], outcome: dict[str, Any]) -> None:
    for item, wanted in zip(outcome["items"], expect["events"], strict=True):
        assert (item.type, item.cursor) == ("event" if "data" in wanted else "gap", wanted["id"])
        if "data" in wanted:
            _same_data(item.event, wanted["data"])
    assert outcome["cursor"] == expect["last_event_id"]


def test_cases_exist() -> None:
    assert len(CASES) >= 40, "clients/cases has too few cases"
