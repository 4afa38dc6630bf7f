"""All calls against a real service."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from both_clients import Kind, client_of, raised
from identity_engine import Observation, errors
from test_buffer import buffer_of

START = datetime(2026, 1, 15, 8, 0, tzinfo=timezone.utc)


@pytest.fixture
def client(kind: Kind, service: str) -> Any:
    key = os.environ["IDENTITY_ENGINE_API_KEY"]
    with client_of(kind, service, api_key=key) as made:
        yield made


@pytest.fixture
def instance(client: Any) -> Any:
    made = client.instances.create("Ada", description="of a test")
    yield client.instance(made.data.id)
    raised_or_done(lambda: client.instances.delete(made.data.id))


def raised_or_done(call: Any) -> None:
    try:
        call()
    except errors.NotFoundError:
        return


def observation(seconds: float, strength: float = 0.6) -> Observation:
    at = START + timedelta(seconds=seconds)
    return Observation(mode_target="ORDER", signal_strength=strength, timestamp=at)


def test_instance_is_created_changed_and_deleted(client: Any) -> None:
    created = client.instances.create("Ada", initial_config={"mode_strengths": {"order": 0.5}})
    assert (created.status, created.attempts, created.is_replayed) == (201, 1, False)
    name = created.data.id
    read = client.instances.get(name)
    assert read.data.cycle_count == 0
    assert client.instances.get(name, if_none_match=read.etag).is_not_modified
    assert client.instances.update(name, name="Bob", if_match=read.etag).data.name == "Bob"
    stale = raised(lambda: client.instances.delete(name, if_match=read.etag))
    assert isinstance(stale, errors.ConflictError)
    assert (stale.reason, stale.field) == ("version_mismatch", "If-Match")
    assert name in [each.id for each in client.instances.iterate(search="Bob", limit=1)]
    assert client.instances.delete(name).data.deleted
    assert isinstance(raised(lambda: client.instances.get(name)), errors.NotFoundError)


def test_call_with_an_idempotency_key_is_applied_once(instance: Any) -> None:
    key = "a key of the caller"
    first = instance.process(observation(0), idempotency_key=key)
    again = instance.process(observation(0), idempotency_key=key)
    assert (first.is_replayed, again.is_replayed) == (False, True)
    assert first.data == again.data
    other = raised(lambda: instance.process(observation(5), idempotency_key=key))
    assert isinstance(other, errors.InvalidRequestError)
    assert other.reason == "idempotency_key_reused"


# Report 2: a buffer wrote observation fields in another order than a call.
def test_observation_of_a_call_and_a_buffer_is_applied_once(client: Any, instance: Any) -> None:
    fields = {"signal_strength": 0.5, "timestamp": START.isoformat(), "mode_target": "ORDER"}
    seen = {**fields, "context": {"b": 1, "a": [{"d": 2, "c": 3}]}}
    instance.process(seen, idempotency_key="k")
    with buffer_of(client) as buffer:
        buffer.add(instance.id, {"idempotency_key": "k", **seen})
        closed = buffer.close()
    assert (closed.acknowledged, closed.rejected) == (1, ())
    assert instance.snapshot().data.cycle == 1


def test_early_observation_raises_an_error_only_with_strict(instance: Any) -> None:
    assert instance.process(observation(0)).throttled is None
    early = instance.process(observation(0.4))
    assert early.throttled.retry_after_s == 1
    assert early.data.snapshot.cycle == 1
    error = raised(lambda: instance.process(observation(0.4), strict=True))
    assert isinstance(error, errors.ThrottledError)


def test_batch_is_atomic_and_names_the_invalid_item(instance: Any) -> None:
    whole = instance.process_batch([observation(n) for n in range(100)])
    assert whole.data.processed_count == 100
    states = instance.process_batch([observation(200), observation(201)], include_intermediate=True)
    assert [state.snapshot.cycle for state in states.data.states] == [101, 102]
    wrong = [observation(300), observation(301, strength=7)]
    error = raised(lambda: instance.process_batch(wrong))
    assert isinstance(error, errors.InvalidRequestError)
    assert (error.field, error.reason) == ("observations[1].signal_strength", "out_of_range")
    assert instance.snapshot().data.cycle == 102
    assert instance.process_batch([observation(0)]).throttled is not None


def test_history_and_drift_of_an_instance_are_readable(instance: Any) -> None:
    instance.process_batch([observation(n) for n in range(60)])
    assert [record.cycle for record in instance.iterate_history(limit=7)] == [*range(60, 0, -1)]
    page = instance.history(limit=50)
    assert (len(page.data), page.pagination.total, page.has_next) == (50, 60, True)
    assert len(page.next().data) == 10
    assert page.next().next() is None
    drifted = instance.drift()
    assert drifted.pagination.total == len(list(instance.iterate_drift(limit=3)))
    assert instance.reset("initial").data.cycle == 0
    assert list(instance.iterate_history()) == []
    assert len(list(instance.iterate_history(generation="all"))) == 60
    assert instance.simulate([observation(100)]).data.processed_count == 1
    assert instance.contract().data.allowed_actions


def test_past_states_and_a_fork_equal_the_answers_of_that_time(client: Any, instance: Any) -> None:
    answers = [instance.process(observation(n)).data for n in range(3)]
    past = instance.states(cycles=[2, 1]).data.states
    assert [state.contract for state in past] == [answers[1].contract, answers[0].contract]
    assert past[0].drift == answers[1].drift
    assert [state.cycle for state in instance.states(points=1).data.states] == [3]
    forked = client.instance(instance.fork("another future", cycle=2).data.id)
    again = forked.process(observation(2)).data
    assert again.contract == answers[2].contract
    error = raised(lambda: forked.states(cycles=[0]))
    assert isinstance(error, errors.NotFoundError)
    assert (error.status, error.reason) == (410, "cycle_trimmed")
    assert error.details is not None
    assert error.details["first_cycle"] == 2


def test_events_follow_an_instance(client: Any, instance: Any) -> None:
    instance.process_batch([observation(n) for n in range(3)])
    events = instance.events(after=0)
    seen = []
    try:
        for event in events:
            seen.append(event.type)
            if seen.count("cycle") == 3 and event.type == "cycle":
                client.instances.delete(instance.id)
    except errors.NotFoundError:
        # A second after the creation of a key, the service ends the streams of its account once.
        # The stream may then reconnect to a deleted instance.
        seen.append("deleted")
    assert seen[-1] == "deleted"
    assert seen.count("cycle") == 3
    assert events.last_event_id == "3"


def taken(events: Any, ids: set[str], number: int) -> list[Any]:
    """The next items of these instances. Other tests use the same account."""
    found: list[Any] = []
    for item in events:
        assert item.type == "event"
        if item.event.instance_id in ids:
            found.append(item)
        if len(found) == number:
            break
    (events.close if hasattr(events._target, "close") else events.aclose)()
    return found


# Catches a wrong order, a wrong cursor, a filter or wait that is not sent, and another time zone.
def test_events_of_an_account_are_followed_read_and_awaited(client: Any) -> None:
    cursor = client.events.list(start="newest").pagination.next_cursor
    ada, eva = (client.instances.create(name).data.id for name in ("Ada", "Eva"))
    client.instances.update(ada, name="A")
    client.instance(eva).reset("initial")
    client.instances.delete(ada)
    items = taken(client.events.follow(cursor=cursor), {ada, eva}, 5)
    types = {id: [i.event.type for i in items if i.event.instance_id == id] for id in (ada, eva)}
    assert types == {ada: ["created", "renamed", "deleted"], eva: ["created", "reset"]}
    for index, item in enumerate(items[:-1]):
        rest = taken(client.events.follow(cursor=item.cursor), {ada, eva}, 4 - index)
        assert [each.event for each in rest] == [each.event for each in items[index + 1 :]]
    reset = client.events.follow(cursor=cursor, types=["reset"])
    assert [item.event.type for item in taken(reset, {ada, eva}, 1)] == ["reset"]
    page = client.events.list(cursor=cursor, types=["reset"], wait=8)
    assert eva in [each.instance_id for each in page.data]
    error = raised(lambda: next(iter(client.events.follow(cursor="WzEsMCwwLDBd"))))
    assert isinstance(error, errors.InvalidRequestError)
    assert error.field == "Last-Event-ID"


def test_personas_test_account_and_audit_are_readable(client: Any) -> None:
    personas = client.personas.list()
    assert len(personas.data) == 12
    assert not personas.has_next
    assert client.personas.get(personas.data[0].id).data.long_description
    questions = client.tests.questions().data.questions
    answers = [{"question_id": each.id, "value": 1 + n % 5} for n, each in enumerate(questions)]
    result = client.tests.submit(answers).data
    made = client.instances.create("of a test", initial_config=result.initial_config)
    assert made.status == 201
    account = client.account.get()
    assert account.data.usage.minute.limit == account.limits.requests.limit
    assert abs(account.limits.requests.reset_at.timestamp() - time.time()) < 120
    lines = client.audit.list(limit=2, action="instance", from_=START)
    assert len(lines.data) == 2
    error = raised(lambda: client.billing.portal("https://app.example"))
    assert isinstance(error, errors.BillingProviderNotConfiguredError)


def test_invalid_key_is_refused(kind: Kind, service: str) -> None:
    with client_of(kind, service, api_key="svc_sk_wrong") as client:
        error = raised(lambda: client.account.get())
    assert isinstance(error, errors.UnauthorizedError)
    assert error.limits.requests.limit == 0
