"""Idempotency keys."""

from __future__ import annotations

import threading
import time
import uuid

import pytest

from identity_engine import uuid7


def test_key_is_a_version_7_uuid_with_the_present_time() -> None:
    before_ms = time.time_ns() // 1_000_000
    value = uuid.UUID(uuid7())
    assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert before_ms <= value.int >> 80 <= time.time_ns() // 1_000_000 + 1
    assert str(value) == str(value).lower()


def test_keys_increase_in_every_thread() -> None:
    made: list[list[str]] = [[] for _ in range(4)]

    def make(keys: list[str]) -> None:
        keys.extend(uuid7() for _ in range(5_000))

    threads = [threading.Thread(target=make, args=(keys,)) for keys in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(keys == sorted(keys) for keys in made)
    assert len({key for keys in made for key in keys}) == 20_000


def test_keys_increase_when_the_clock_steps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = uuid7()
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000_000)
    second = uuid7()
    assert first < second
