"""The contract guard."""

from __future__ import annotations

import gc
import json
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import pytest

from both_clients import Kind, client_of, raised
from identity_engine import ACTIONS, KnownAction, actions, errors, is_known_action
from identity_engine.models import Action, Contract
from wire_server import Reply, Request, data, script, serving

INSTANCE = "inst_0123456789abcdef"


def contract(*forbidden: str) -> dict[str, Any]:
    style = {
        "tempo": "slow",
        "risk": "avoidant",
        "expressiveness": "low",
        "commitment_threshold": "low",
    }
    recovery = {"preferred_path": "rest", "support_required": False, "cooldown_required": False}
    return {
        "dominant_modes": ["Order"],
        "suppressed_modes": [],
        "allowed_actions": ["execute"],
        "forbidden_actions": list(forbidden),
        "decision_style": style,
        "energy_level": 0.5,
        "stress_state": "LOW",
        "recovery_profile": recovery,
    }


SNAPSHOT = {
    "instance_id": INSTANCE,
    "cycle": 1,
    "mode_strengths": dict.fromkeys(
        [
            *("perception", "exploration", "order", "assertion"),
            *("connection", "identity", "stress_response"),
        ],
        0.5,
    ),
    "energy_level": 0.5,
    "stress_state": "LOW",
    "stability_index": 1,
}
DEVIATION = {
    "description": "",
    "reason": "within_band",
    "distance": 0,
    "t2": 0,
    "p_value": 1,
    "breach": 0,
    "run": 0,
    "sustained": {"statistic": 0, "limit": 5, "mode": None, "direction": None},
    "modes": [],
    "nearest_persona": None,
    "composite": None,
}


def state(*forbidden: str) -> dict[str, Any]:
    drift = {"level": "D0", "deviation": DEVIATION}
    return {"snapshot": SNAPSHOT, "contract": contract(*forbidden), "drift": drift}


def answer(request: Request) -> Reply:
    """Forbids a different action in each kind of answer."""
    match request.path.rsplit("/", 1)[1]:
        case "contract":
            return data(contract("explore"))
        case "process":
            return data(state("pivot"))
        case "batch" if "include_intermediate" in request.json:
            return data({"states": [state(), state("challenge")], "processed_count": 2})
        case "batch":
            return data({**state("comfort"), "processed_count": 1})
        case _:
            text = f"event: state\ndata: {json.dumps(state('question'))}\n\n"
            return Reply(200, {"Content-Type": "text/event-stream"}, chunks=(text.encode(),))


OBSERVATION = {"mode_target": "ORDER", "signal_strength": 0.5}


def test_every_answer_through_the_handle_updates_the_guard(kind: Kind) -> None:
    with serving(answer) as server, client_of(kind, server.base_url) as client:
        instance = client.instance(INSTANCE)
        guard = instance.guard()
        assert (guard.contract, guard.age_s) == (None, None)
        forbidden: list[list[str]] = []
        calls: list[Callable[[], object]] = [
            lambda: instance.contract(),
            lambda: instance.process(OBSERVATION),
            lambda: instance.process_batch([OBSERVATION]),
            lambda: instance.process_batch([OBSERVATION], include_intermediate=True),
            lambda: next(iter(instance.events())),
            lambda: guard.refresh(),
        ]
        for call in calls:
            call()
            forbidden.append(guard.contract.forbidden_actions)
    wanted = ["explore", "pivot", "comfort", "challenge", "question", "explore"]
    assert [each for (each,) in forbidden] == wanted


def test_guard_returns_the_verdicts_of_the_contract(kind: Kind) -> None:
    with serving(answer) as server, client_of(kind, server.base_url) as client:
        guard = client.instance(INSTANCE).guard()
        assert isinstance(raised(lambda: guard.allows("explore")), errors.NoContractError)
        guard.refresh()
        verdicts = [guard.verdict(action) for action in ("execute", "explore", "defer")]
        assert verdicts == ["allowed", "forbidden", "open"]
        assert [guard.allows(action) for action in ("execute", "explore", "defer")] == [
            *(True, False, True)
        ]
        guard.require("execute")
        error = raised(lambda: guard.require("explore"))
        assert isinstance(error, errors.ActionForbiddenError)
        assert error.action == "explore"
        assert not isinstance(error, errors.ApiError)


def test_answer_to_an_earlier_request_is_ignored(kind: Kind) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:
        guard = client.instance(INSTANCE).guard()
        guard.update(Contract.model_validate(contract("explore")), began_s=20.0)
        guard.update(Contract.model_validate(contract("pivot")), began_s=10.0)
        assert guard.contract.forbidden_actions == ["explore"]
        guard.update(Contract.model_validate(contract("pivot")), began_s=20.0)
        assert guard.contract.forbidden_actions == ["pivot"]


def test_later_cycle_is_newer_in_any_order(kind: Kind) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:
        guard = client.instance(INSTANCE).guard()
        guard.update(Contract.model_validate(contract("explore")), began_s=20.0, cycle=7)
        guard.update(Contract.model_validate(contract("pivot")), began_s=21.0, cycle=6)
        assert guard.contract.forbidden_actions == ["explore"]
        guard.update(Contract.model_validate(contract("comfort")), began_s=10.0, cycle=8)
        assert guard.contract.forbidden_actions == ["comfort"]


def test_contract_without_a_cycle_has_at_least_the_held_cycle(kind: Kind) -> None:
    """An event of the same cycle may have been delayed, so the guard ignores this event."""
    blocks = (block("state", of_cycle(5, "question")), block("state", of_cycle(6, "comfort")))

    def answer(request: Request) -> Reply:
        if request.path.endswith("events"):
            return Reply(200, {"Content-Type": "text/event-stream"}, chunks=blocks)
        return data(of_cycle(5, "pivot") if request.method == "POST" else contract("explore"))

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        instance = client.instance(INSTANCE)
        guard = instance.guard()
        events = iter(instance.events())
        instance.process(OBSERVATION)
        guard.refresh()
        next(events)
        assert guard.contract.forbidden_actions == ["explore"]
        next(events)
        assert guard.contract.forbidden_actions == ["comfort"]


def test_reset_invalidates_earlier_requests(kind: Kind) -> None:
    done = {"id": INSTANCE, "reset_to": "initial", "cycle": 0}
    done |= {"energy_level": 0.8, "stress_state": "LOW"}
    with serving(script(data(of_cycle(5, "pivot")), data(done))) as server:
        with client_of(kind, server.base_url) as client:
            instance = client.instance(INSTANCE)
            guard = instance.guard()
            instance.process(OBSERVATION)
            before_s = time.monotonic()
            instance.reset("initial")
            late = Contract.model_validate(contract("explore"))
            guard.update(late, began_s=before_s, cycle=6)
            assert guard.contract.forbidden_actions == ["pivot"]
            guard.update(late, cycle=0)
            assert guard.contract.forbidden_actions == ["explore"]


def test_replay_of_an_earlier_call_updates_nothing(kind: Kind) -> None:
    """The replayed answer to a retry belongs to the present call, and updates the guard."""
    old = data(state("pivot"), Idempotent_Replayed="true")
    answers = script(data(contract("explore")), old, "close", old)
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        instance = client.instance(INSTANCE)
        guard = instance.guard()
        guard.refresh()
        instance.process(OBSERVATION, idempotency_key="k")
        assert guard.contract.forbidden_actions == ["explore"]
        instance.process(OBSERVATION, idempotency_key="k")
        assert guard.contract.forbidden_actions == ["pivot"]


def of_cycle(cycle: int, *forbidden: str) -> dict[str, Any]:
    return {**state(*forbidden), "snapshot": {**SNAPSHOT, "cycle": cycle}}


def block(event: str, value: object) -> bytes:
    return f"event: {event}\ndata: {json.dumps(value)}\n\n".encode()


def test_delayed_event_does_not_restore_an_old_contract(kind: Kind) -> None:
    queued = (block("state", of_cycle(3, "question")), block("reset", {"generation": 2}))
    blocks = (*queued, block("state", of_cycle(0, "comfort")))

    def answer(request: Request) -> Reply:
        if request.path.endswith("events"):
            return Reply(200, {"Content-Type": "text/event-stream"}, chunks=blocks)
        return data(of_cycle(5, "explore"))

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        instance = client.instance(INSTANCE)
        guard = instance.guard()
        events = iter(instance.events())
        instance.process(OBSERVATION)
        assert next(events).type == "state"
        assert guard.contract.forbidden_actions == ["explore"]
        assert next(events).type == "reset"
        assert next(events).type == "state"
        assert guard.contract.forbidden_actions == ["comfort"]


def test_cycles_restart_after_a_reset_by_another_client(kind: Kind) -> None:
    answers = script(data(of_cycle(5, "explore")), data(of_cycle(1, "comfort")))
    with serving(answers) as server, client_of(kind, server.base_url) as client:
        instance = client.instance(INSTANCE)
        guard = instance.guard()
        instance.process(OBSERVATION)
        instance.process(OBSERVATION)
        assert guard.contract.forbidden_actions == ["comfort"]


def test_contract_beyond_its_maximum_age_raises(kind: Kind) -> None:
    with serving(answer) as server, client_of(kind, server.base_url) as client:
        guard = client.instance(INSTANCE).guard(max_age_s=60)
        guard.update(Contract.model_validate(contract()), began_s=-1_000_000.0)
        for ask in (guard.allows, guard.verdict, guard.require):
            with pytest.raises(errors.StaleContractError) as caught:
                ask("execute")
        assert caught.value.age_s > 60
        guard.refresh()
        assert guard.allows("execute")
        assert guard.age_s < 60


def test_unreferenced_guard_is_released(kind: Kind) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:
        handle = client.instance(INSTANCE)
        guards = handle._target._guards
        for _ in range(100):
            handle.guard()
        gc.collect()
        assert len(guards._guards) == 0


# Report 17: a guard allowed actions that do not exist.
@pytest.mark.parametrize("word", ["exlpore", "Explore", "", " explore", None, 3])
def test_guard_refuses_an_unknown_action(kind: Kind, word: Any) -> None:
    with serving(answer) as server, client_of(kind, server.base_url) as client:
        guard = client.instance(INSTANCE).guard()
        for call in (guard.verdict, guard.allows, guard.require):
            assert isinstance(raised(partial(call, word)), errors.UnknownActionError)
        guard.refresh()
        for call in (guard.verdict, guard.allows, guard.require):
            error = raised(partial(call, word))
            assert isinstance(error, errors.UnknownActionError)
            assert error.action == word


def test_guard_accepts_a_later_action_that_its_contract_lists(kind: Kind) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:
        guard = client.instance(INSTANCE).guard()
        guard.update(Contract.model_validate(contract("meditate")))
        assert guard.verdict("meditate") == "forbidden"


def test_known_actions_equal_the_actions_of_the_models() -> None:
    known = get_args(get_args(Action.__value__)[0])
    assert (known, get_args(KnownAction)) == (ACTIONS, ACTIONS)
    constants = [name for name in dir(actions) if name.isupper() and name != "ACTIONS"]
    assert sorted(getattr(actions, name) for name in constants) == sorted(ACTIONS)
    assert all(is_known_action(action) for action in ACTIONS)
    assert not any(is_known_action(word) for word in ("Explore", "", None, 3))


# Report 17: a guard with NaN as maximum age accepted contracts of any age.
@pytest.mark.parametrize("age", [math.nan, -1])
def test_invalid_maximum_age_is_refused(kind: Kind, age: float) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:
        error = raised(lambda: client.instance(INSTANCE).guard(max_age_s=age))
    assert isinstance(error, errors.ConfigurationError)
