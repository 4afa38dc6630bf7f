"""Keys of observations, throttling, and spools from which a later process continues."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import (
    ConfigurationError,
    FileSpool,
    InvalidRequestError,
    SpooledDone,
    SpooledObservation,
    SpoolError,
    ThrottledObservation,
    UnauthorizedError,
    uuid7,
)
from identity_engine._buffer import spool as spool_module
from identity_engine._buffer.item import time_ms, time_text
from test_buffer import OBSERVATION, ONE, OTHER, buffer_of
from test_fork import forked
from test_guard import state
from wire_server import Fault, Reply, Request, data, refusal, script, serving

DAY_MS = 1_768_478_400_000
"""Timestamp of observation 0 of the log, 2026-01-15T12:00:00Z, in Unix milliseconds."""


class KeyedService:
    """Models the batch route, with observation keys and the 1.000 s interval."""

    def __init__(self) -> None:
        self.applied: dict[str, list[dict[str, Any]]] = {}
        self.known: dict[tuple[str, str], dict[str, Any]] = {}
        self.newest_ms: dict[str, int] = {}
        self.lost_after = 0
        """Number of answers to lose after applying the batch."""
        self.silent_after: int | None = None
        """Number of observations after which the service no longer answers."""
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply | Fault:
        instance = request.path.split("/")[3]
        with self._lock:
            reply = self._answer(instance, request.json["observations"])
            if self.lost_after > 0:
                self.lost_after -= 1
                return "close"
            count = sum(len(each) for each in self.applied.values())
            if self.silent_after is not None and count >= self.silent_after:
                return "silence"
            return reply

    def _answer(self, instance: str, observations: list[dict[str, Any]]) -> Reply:
        statuses: list[str] = []
        for index, each in enumerate(observations):
            before = self.known.get((instance, each["idempotency_key"]))
            if before is not None and before != each:
                field = f"observations[{index}].idempotency_key"
                return refusal(422, "invalid_request", reason="idempotency_key_reused", field=field)
            statuses.append("applied" if before is None else "replayed")
        fresh = [o for o, s in zip(observations, statuses, strict=True) if s == "applied"]
        headers: dict[str, str] = {}
        if fresh:
            times = [time_ms(each["timestamp"]) for each in fresh]
            assert all(b - a >= 1_000 for a, b in pairwise(times))
            floor = self.newest_ms.get(instance, 0) + 1_000
            if times[0] < floor:
                statuses = ["throttled" if s == "applied" else s for s in statuses]
                wait_s = -(-(floor - times[0]) // 1_000)
                headers = {"X-Throttled": "true", "Retry-After": str(wait_s)}
                fresh = []
            else:
                self.newest_ms[instance] = times[-1]
        self.applied.setdefault(instance, []).extend(fresh)
        for each in fresh:
            self.known[instance, each["idempotency_key"]] = each
        results = [{"index": n, "status": status} for n, status in enumerate(statuses)]
        answer = data({**state(), "processed_count": len(fresh), "results": results})
        return Reply(200, {**answer.headers, **headers}, answer.body)

    def numbers(self, instance: str = ONE) -> list[int]:
        return [each["context"]["n"] for each in self.applied.get(instance, [])]


def logged(number: int, **fields: Any) -> dict[str, Any]:
    """Returns an observation of a caller's log, with a timestamp and a key of the caller."""
    return {
        **OBSERVATION,
        "context": {"n": number},
        "timestamp": time_text(DAY_MS + number * 1_000),
        "idempotency_key": f"log-{number}",
        **fields,
    }


# Report 2: a log that was sent again after a crash was applied twice.
def test_log_that_is_sent_again_is_applied_once(kind: Kind) -> None:
    service = KeyedService()
    with serving(service) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, batch_max=30) as buffer:
            for number in range(50):
                buffer.add(ONE, logged(number))
            assert buffer.close().acknowledged == 50
        replayed: list[int] = []
        with buffer_of(client, on_acknowledged=lambda it: replayed.append(it.replayed)) as buffer:
            for number in range(80):
                buffer.add(ONE, logged(number))
            closed = buffer.close()
    assert (closed.acknowledged, sum(replayed), closed.throttled) == (80, 50, ())
    assert service.numbers() == [*range(80)]


# Report 2: a buffer silently changed a throttled observation's timestamp.
def test_throttled_observation_with_a_caller_timestamp_is_reported(kind: Kind) -> None:
    service = KeyedService()
    service.newest_ms[ONE] = DAY_MS + 10_200
    heard: list[ThrottledObservation] = []
    with serving(service) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, on_throttled=heard.append) as buffer:
            for number in range(20):
                buffer.add(ONE, logged(number))
            buffer.flush()
            assert buffer.pending == 0
            closed = buffer.close()
    assert [each.observation["context"]["n"] for each in closed.throttled] == [*range(12)]
    assert heard == [*closed.throttled]
    assert [each.observation for each in heard] == [logged(number) for number in range(12)]
    assert closed.acknowledged == 8
    assert service.applied[ONE] == [logged(number) for number in range(12, 20)]
    assert len(server.requests) <= 3


def test_observation_without_a_caller_timestamp_is_moved(kind: Kind) -> None:
    service = KeyedService()
    service.newest_ms[ONE] = round(time.time() * 1_000) + 5_000
    with serving(service) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            for number in range(20):
                buffer.add(ONE, {**OBSERVATION, "context": {"n": number}})
            closed = buffer.close()
    assert (closed.acknowledged, closed.throttled) == (20, ())
    assert service.numbers() == [*range(20)]


# Report 2: buffered observations had no keys.
def test_every_observation_keeps_its_key_in_retries(kind: Kind) -> None:
    service = KeyedService()
    service.lost_after = 2
    with serving(service) as server:
        with client_of(kind, server.base_url, attempts_max=1) as client:
            with buffer_of(client) as buffer:
                for number in range(10):
                    buffer.add(ONE, {**OBSERVATION, "context": {"n": number}})
                assert buffer.close().acknowledged == 10
    bodies = [request.json["observations"] for request in server.requests]
    assert bodies[0] == bodies[1] == bodies[2]
    assert len({each["idempotency_key"] for each in bodies[0]}) == 10
    assert service.numbers() == [*range(10)]


# Report 2: one reused key rejected the whole batch.
def test_reused_key_within_a_batch_rejects_at_most_one_observation(kind: Kind) -> None:
    service = KeyedService()
    with serving(service) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            for number in range(5):
                buffer.add(
                    ONE, logged(number, idempotency_key="same" if number in (1, 3) else None)
                )
            closed = buffer.close()
    # The service also compares keys within a batch.
    assert closed.acknowledged + len(closed.rejected) == 5
    assert service.numbers() in ([0, 1, 2, 3, 4], [0, 1, 2, 4])


def test_service_without_observation_keys_stops_the_buffer_without_loss(kind: Kind) -> None:
    unknown = refusal(
        422, "invalid_request", reason="unknown_field", field="observations[0].idempotency_key"
    )
    with serving(script(unknown)) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            buffer.add(ONE, OBSERVATION)
            assert isinstance(raised(buffer.flush), InvalidRequestError)
            assert len(buffer.close().unacknowledged) == 1


@pytest.mark.parametrize("key", ["", "é", "x" * 256, 3])
def test_invalid_key_is_refused(kind: Kind, key: Any) -> None:
    with serving(KeyedService()) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client) as buffer:
            error = raised(lambda: buffer.add(ONE, logged(0, idempotency_key=key)))
            assert isinstance(error, ValueError)
            buffer.close()


PROGRAM = """
import sys
from identity_engine import IdentityEngine, ObservationBuffer
client = IdentityEngine(api_key=sys.argv[1], base_url=sys.argv[2])
buffer = ObservationBuffer(client, spool=sys.argv[3], batch_max=7, fleet_calls=False)
for number in range(int(sys.argv[4])):
    buffer.add(f"inst_{number % 3}", {
        "mode_target": "ORDER", "signal_strength": 0.5, "context": {"n": number}
    })
    print(number, flush=True)
buffer.flush()
"""


# Report 3: a killed process lost its buffered observations.
def test_a_later_process_continues_after_kill_9(kind: Kind, tmp_path: Path) -> None:
    service, path = KeyedService(), tmp_path / "spool"
    service.silent_after = 20
    with serving(service) as server:
        command = [sys.executable, "-c", PROGRAM, KEY, server.base_url, str(path), "60"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        taken = [int(process.stdout.readline()) for _ in range(45)]
        process.send_signal(signal.SIGKILL)
        taken += [int(line) for line in process.stdout.read().split()]
        process.wait(20)
        process.stdout.close()
        service.silent_after = None
        with client_of(kind, server.base_url) as client:
            with buffer_of(client, spool=path) as buffer:
                buffer.add(ONE, OBSERVATION | {"context": {"n": 99}})
                closed = buffer.close(timeout_s=300)
        assert closed.unacknowledged == ()
    for n in range(3):
        numbers = service.numbers(f"inst_{n}")
        assert numbers == sorted(set(numbers)), "applied twice or out of order"
        assert {number for number in taken if number % 3 == n} <= set(numbers), (
            "an observation was lost"
        )
    assert service.numbers(ONE) == [99]
    assert list(FileSpool(path).load()) == []


# Report 3: an added observation was lost before it was sent.
def test_observation_is_in_the_file_when_add_returns(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "spool"
    with serving(script("silence")) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, spool=path) as buffer:
            buffer.add(ONE, logged(1))
            buffer.add(OTHER, OBSERVATION)
            lines = [json.loads(line) for line in path.read_bytes().splitlines()]
            buffer.close(timeout_s=0.1)
    assert lines[0]["observation"] == logged(1)
    assert [line["timestamp_from"] for line in lines] == ["caller", "buffer"]
    assert [line["instance"] for line in lines] == [ONE, OTHER]
    assert all(line["v"] == 1 and line["added_at"] > DAY_MS for line in lines)
    time_ms(lines[1]["observation"]["timestamp"])


def test_finished_observations_are_marked_in_the_file(kind: Kind, tmp_path: Path) -> None:
    path, service = tmp_path / "spool", KeyedService()
    service.newest_ms[ONE] = DAY_MS

    def answer(request: Request) -> Reply | Fault:
        return refusal(404, "not_found") if OTHER in request.path else service(request)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, spool=path) as buffer:
            for number in range(5):
                buffer.add(ONE, logged(number))
            buffer.add(OTHER, OBSERVATION)
            closed = buffer.close()
    assert (closed.acknowledged, len(closed.throttled), len(closed.rejected)) == (4, 1, 1)
    assert list(FileSpool(path).load()) == []


def test_moved_timestamp_is_in_the_file_before_it_is_sent(kind: Kind, tmp_path: Path) -> None:
    path, service = tmp_path / "spool", KeyedService()
    service.newest_ms[ONE] = round(time.time() * 1_000) + 3_000
    seen: list[bool] = []

    def answer(request: Request) -> Reply | Fault:
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        last = {
            line["observation"]["idempotency_key"]: line["observation"]
            for line in lines
            if "observation" in line
        }
        seen.extend(last[each["idempotency_key"]] == each for each in request.json["observations"])
        return service(request)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, spool=path) as buffer:
            for number in range(4):
                buffer.add(ONE, {**OBSERVATION, "context": {"n": number}})
            assert buffer.close().acknowledged == 4
    assert seen.count(True) == len(seen) > 4
    assert service.numbers() == [0, 1, 2, 3]


def spooled(number: int, added_at_ms: int | None = None) -> SpooledObservation:
    at_ms = round(time.time() * 1_000) if added_at_ms is None else added_at_ms
    return SpooledObservation(ONE, logged(number), True, at_ms)


# Report 3: a write torn by a crash must not prevent the next process from starting.
@pytest.mark.parametrize("torn", [b'{"v":1,"inst', b"\0\0\0\0", b"\0\0\n", b"{}\n", b'{"v":1}'])
def test_a_torn_last_line_is_removed(torn: bytes, tmp_path: Path) -> None:
    path = tmp_path / "spool"
    first = FileSpool(path)
    first.save([spooled(1), spooled(2)])
    first.close()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    second = FileSpool(path)
    assert [each.observation["context"]["n"] for each in second.load()] == [1, 2]
    second.save([spooled(3), SpooledDone(ONE, ("log-1",))])
    second.close()
    third = FileSpool(path)
    assert [each.observation["context"]["n"] for each in third.load()] == [2, 3]
    third.close()


def test_error_names_an_unreadable_line(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    first = FileSpool(path)
    first.save([spooled(1), spooled(2)])
    first.close()
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = b"".join([lines[0], b"damage\n", lines[1]])
    path.write_bytes(damaged)
    with pytest.raises(SpoolError, match="line 2 of the spool"):
        FileSpool(path)
    assert path.read_bytes() == damaged


def test_only_one_process_can_use_the_file(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "spool"
    with serving(KeyedService()) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, spool=path) as buffer:
            with pytest.raises(SpoolError, match="another process"):
                FileSpool(path)

            def use() -> str:
                return repr(raised(lambda: buffer.add(ONE, OBSERVATION)))

            with forked(use) as outcome:
                assert outcome().startswith(ConfigurationError.__name__)
                assert "spool" in outcome()
            assert buffer.close().acknowledged == 0
        FileSpool(path).close()


def test_child_does_not_keep_the_file_of_its_parent_locked(tmp_path: Path) -> None:
    spool = FileSpool(tmp_path / "spool")
    ready, done = tmp_path / "ready", tmp_path / "done"

    def wait() -> bool:
        ready.touch()
        for _ in range(1_000):
            if done.exists():
                return True
            time.sleep(0.02)
        return False

    with forked(wait) as outcome:
        while not ready.exists():
            time.sleep(0.01)
        spool.close()
        FileSpool(tmp_path / "spool").close()
        done.touch()
        assert outcome() is True


def test_file_is_rewritten_when_most_observations_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "REWRITTEN_BYTES_MIN", 10_000)
    path = tmp_path / "spool"
    spool = FileSpool(path)
    spool.save([spooled(-1)])
    for number in range(500):
        spool.save([spooled(number)])
        spool.save([SpooledDone(ONE, (f"log-{number}",))])
    assert path.stat().st_size < 20_000
    with pytest.raises(SpoolError, match="another process"):
        FileSpool(path)
    spool.save([spooled(500)])
    spool.close()
    again = FileSpool(path)
    assert [each.observation["context"]["n"] for each in again.load()] == [-1, 500]
    again.close()


def test_observation_with_an_old_key_is_returned(kind: Kind, tmp_path: Path) -> None:
    path, service = tmp_path / "spool", KeyedService()
    now_ms = round(time.time() * 1_000)
    first = FileSpool(path)
    first.save([spooled(1, now_ms - 24 * 3_600_000), spooled(2)])
    first.close()
    with serving(service) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, spool=path) as buffer:
            closed = buffer.close()
    assert service.numbers() == [2]
    (old,) = closed.unacknowledged
    assert (old.observations, old.may_have_happened) == ((logged(1),), True)


class Table:
    """A store of the caller, in memory."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], SpooledObservation] = {}
        self.is_closed = False
        self.is_broken = False

    def load(self) -> Iterable[SpooledObservation]:
        return list(self.rows.values())

    def save(self, entries: Sequence[SpooledObservation | SpooledDone]) -> None:
        if self.is_broken:
            raise OSError("no space left on device")
        for each in entries:
            if isinstance(each, SpooledObservation):
                self.rows[each.instance_id, each.key] = each
            else:
                for key in each.keys:
                    self.rows.pop((each.instance_id, key), None)

    def close(self) -> None:
        self.is_closed = True


# Report 3: a buffer could not use a caller's store.
def test_store_of_the_caller_holds_pending_observations(kind: Kind) -> None:
    table, service = Table(), KeyedService()
    with serving(script(refusal(401, "unauthorized"))) as server:
        with client_of(kind, server.base_url) as client:
            with buffer_of(client, spool=table) as buffer:
                buffer.add(ONE, logged(1))
                assert isinstance(raised(buffer.flush), UnauthorizedError)
                buffer.close()
    assert table.is_closed
    assert len(table.rows) == 1
    with serving(service) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, spool=table) as buffer:
            assert buffer.close().acknowledged == 1
    assert table.rows == {}
    assert service.numbers() == [1]


def test_add_raises_if_the_store_cannot_save(kind: Kind) -> None:
    table, service = Table(), KeyedService()
    with serving(service) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, spool=table, pending_max=1) as buffer:
            table.is_broken = True
            for _ in range(3):
                assert isinstance(raised(lambda: buffer.add(ONE, logged(1))), SpoolError)
            table.is_broken = False
            buffer.add(ONE, logged(2))
            assert buffer.close().acknowledged == 1
    assert service.numbers() == [2]


def test_error_names_a_file_that_cannot_be_opened(kind: Kind, tmp_path: Path) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:

        def make() -> None:
            with buffer_of(client, spool=tmp_path / "nowhere" / "spool"):
                pass

        error = raised(make)
    assert isinstance(error, SpoolError)
    assert "nowhere" in str(error)


# Report 2: two calls to a real service could not share keys.
def test_observation_keys_equal_the_keys_of_single_calls(service: str) -> None:
    key = os.environ["IDENTITY_ENGINE_API_KEY"]
    with client_of("sync", service, api_key=key) as client:
        id = client.instances.create("keys").data.id
        single = {name: value for name, value in logged(0).items() if name != "idempotency_key"}
        name = uuid7()
        with buffer_of(client) as buffer:
            buffer.add(id, {**single, "idempotency_key": name})
            for number in range(1, 6):
                buffer.add(id, logged(number))
                buffer.add(id, logged(number))
            closed = buffer.close()
        assert closed.acknowledged == 11
        client.instance(id).process(single, idempotency_key=name)
        assert client.instance(id).snapshot().data.cycle == 6
        client.instances.delete(id)
