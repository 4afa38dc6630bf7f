"""Deadlines with few connections, forks, and other bounds."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
from functools import partial
from typing import Any

import httpx
import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import AsyncIdentityEngine, ConfigurationError, IdentityEngine, errors, uuid7
from wire_server import data, script, serving

OBSERVATION = {"mode_target": "ORDER", "signal_strength": 0.5}


def test_waiting_for_a_slot_counts_towards_the_deadline() -> None:
    """A call that waits 0.7 s for a slot has 0.3 s left of its deadline of 1 s."""
    with serving(script("silence")) as server:
        with IdentityEngine(api_key=KEY, base_url=server.base_url, attempts_max=1) as client:
            slots = client._caller.connections._present().slots
            while slots.acquire(blocking=False):
                pass
            threading.Timer(0.7, slots.release).start()
            began_s = time.monotonic()
            error = raised(lambda: client.account.get(timeout_s=1.0))
            assert 0.9 < time.monotonic() - began_s < 1.5
    assert isinstance(error, errors.DeadlineError)


def test_waiting_for_a_slot_counts_on_an_event_loop() -> None:
    async def main() -> float:
        with serving(script("silence")) as server:
            async with AsyncIdentityEngine(
                api_key=KEY, base_url=server.base_url, attempts_max=1
            ) as client:
                slots = client._caller.connections._present().slots
                while slots.value > 0:
                    slots.acquire_nowait()
                asyncio.get_running_loop().call_later(0.7, slots.release)
                began_s = time.monotonic()
                with pytest.raises(errors.DeadlineError):
                    await client.account.get(timeout_s=1.0)
                return time.monotonic() - began_s

    assert 0.9 < asyncio.run(main()) < 1.5


def test_deadline_bounds_an_httpx_client_of_the_caller() -> None:
    with serving(script("dribble")) as server, httpx.Client(timeout=30) as http:
        for _ in range(2):
            with IdentityEngine(api_key=KEY, base_url=server.base_url, http_client=http) as client:
                began_s = time.monotonic()
                error = raised(partial(client.account.get, timeout_s=0.5))
                assert time.monotonic() - began_s < 2
                assert isinstance(error, errors.DeadlineError)


def keys_of(pipe: Any) -> None:
    pipe.send([uuid7() for _ in range(50)])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_processes_create_different_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock steps back, so that each process would continue from the same last key."""
    uuid7()
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000_000)
    context = multiprocessing.get_context("fork")
    made: list[str] = []
    for _ in range(2):
        here, there = context.Pipe()
        process = context.Process(target=keys_of, args=(there,))
        process.start()
        assert here.poll(20)
        made += here.recv()
        process.join(20)
    made += [uuid7() for _ in range(50)]
    assert len(set(made)) == 150


# Report 18: calls ended after ten attempts, long before their deadline.
def test_attempts_continue_until_the_deadline(kind: Kind) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:
        began_s = time.monotonic()
        error = raised(lambda: client.account.get(timeout_s=1.5))
        assert 1.3 < time.monotonic() - began_s < 2
    assert isinstance(error, errors.DeadlineError)
    assert isinstance(error.last_error, errors.ConnectionError)
    assert error.__cause__ is error.last_error


@pytest.mark.parametrize("id", ["..", ".", ""])
def test_an_id_cannot_leave_its_path(kind: Kind, id: str) -> None:
    with serving(script(data({}))) as server, client_of(kind, server.base_url) as client:
        for call in (client.instances.get, client.instances.delete, client.personas.get):
            assert isinstance(raised(partial(call, id)), ConfigurationError)
    assert server.requests == []


@pytest.mark.parametrize("key", ["schlüssel", "a\r\nX-Other: 1"])
def test_invalid_header_is_refused_before_sending(kind: Kind, key: str) -> None:
    with serving(script(data({}))) as server, client_of(kind, server.base_url) as client:
        agent = client.instance("inst_0123456789abcdef")
        error = raised(lambda: agent.process(OBSERVATION, idempotency_key=key))
    assert isinstance(error, ConfigurationError)
    assert server.requests == []


def test_a_password_in_the_address_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        IdentityEngine(api_key=KEY, base_url="http://ada:secret@a.example/v1")
    assert "secret" not in str(caught.value)
