"""Parameters as dictionaries instead of models."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from both_clients import KEY, Kind, client_of, raised
from identity_engine import IdentityEngine, Observation, ObservationBuffer, models
from identity_engine._core.model import Model
from wire_server import refusal, script, serving

INSTANCE = "inst_0123456789abcdef"

PAIRS: list[tuple[Any, type[Model]]] = [
    (models.ObservationDict, models.Observation),
    (models.BatchObservationDict, models.BatchObservation),
    (models.FleetObservationDict, models.FleetObservation),
    (models.ModeStrengthsDict, models.InitialModeStrengths),
    (models.InitialConfigDict, models.InitialConfig),
    (models.TestAnswerDict, models.TestAnswer),
]


@pytest.mark.parametrize(("dictionary", "model"), PAIRS)
def test_typed_dictionary_has_the_fields_of_its_model(dictionary: Any, model: type[Model]) -> None:
    assert set(typing.get_type_hints(dictionary)) == set(model.model_fields)
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    assert dictionary.__required_keys__ == required


OBSERVATION: models.ObservationDict = {
    "mode_target": "ORDER",
    "signal_strength": 0.5,
    "context": {"of": "a user"},
    "timestamp": "2026-01-15T12:00:00Z",
}
KEYED: models.BatchObservationDict = {**OBSERVATION, "idempotency_key": "key-1"}
OF_FLEET: models.FleetObservationDict = {**KEYED, "instance_id": "inst_1"}
CONFIG: models.InitialConfigDict = {"mode_strengths": {"order": 0.5}, "energy_level": 0.7}
ANSWER: models.TestAnswerDict = {"question_id": "q01", "value": 3}

CALLS: dict[str, tuple[Any, Any, Any]] = {
    "process": (lambda c, a: c.instance(INSTANCE).process(a), models.Observation, OBSERVATION),
    "process_batch": (
        lambda c, a: c.instance(INSTANCE).process_batch([a, a]),
        models.BatchObservation,
        KEYED,
    ),
    "simulate": (lambda c, a: c.instance(INSTANCE).simulate([a]), models.Observation, OBSERVATION),
    "process of the client": (
        lambda c, a: c.process([a]),
        models.FleetObservation,
        OF_FLEET,
    ),
    "create": (
        lambda c, a: c.instances.create("Ada", initial_config=a),
        models.InitialConfig,
        CONFIG,
    ),
    "submit": (lambda c, a: c.tests.submit([a]), models.TestAnswer, ANSWER),
}


@pytest.mark.parametrize("name", CALLS)
def test_dictionary_and_model_give_the_same_request(kind: Kind, name: str) -> None:
    call, model, fields = CALLS[name]
    with serving(script(refusal(404, "not_found"))) as server:
        with client_of(kind, server.base_url) as client:
            raised(partial(call, client, fields))
            raised(partial(call, client, model(**fields)))
    first, second = (request.json for request in server.requests)
    assert first == second


def is_model(hint: Any) -> bool:
    return inspect.isclass(hint) and issubclass(hint, Model)


def parts_of(hint: Any) -> list[Any]:
    """The types that a type hint names, at any depth."""
    return [hint, *(part for each in typing.get_args(hint) for part in parts_of(each))]


def test_every_parameter_that_takes_a_model_takes_a_mapping() -> None:
    with IdentityEngine(api_key=KEY) as client:
        groups = (client, client.instances, client.tests, client.billing, client.instance("i"))
        methods = [
            method
            for target in (*groups, ObservationBuffer)
            for name, method in inspect.getmembers(target, inspect.isroutine)
            if not name.startswith("_")
        ]
    found = set()
    for method in methods:
        for name, hint in typing.get_type_hints(method).items():
            parts = parts_of(hint)
            if name != "return" and any(map(is_model, parts)):
                found.add(f"{method.__name__} {name}")
                assert any(typing.get_origin(part) is Mapping for part in parts), (method, name)
    assert found == {
        *("process observation", "process_batch observations", "simulate observations"),
        *("create initial_config", "submit answers", "add observation"),
        "process observations",
    }


def test_configuration_of_a_test_result_creates_an_instance(kind: Kind) -> None:
    strengths = dict.fromkeys(models.ModeStrengths.model_fields, 0.5)
    config = models.SuggestedConfig(
        mode_strengths=models.ModeStrengths.model_validate(strengths), energy_level=0.8
    )
    with serving(script(refusal(404, "not_found"))) as server:
        with client_of(kind, server.base_url) as client:
            raised(partial(client.instances.create, "Ada", initial_config=config))
    assert server.requests[0].json["initial_config"] == {
        "mode_strengths": strengths,
        "energy_level": 0.8,
    }


def test_unset_fields_of_an_observation_are_not_sent(kind: Kind) -> None:
    with serving(script(refusal(404, "not_found"))) as server:
        with client_of(kind, server.base_url) as client:
            observation = Observation(mode_target="ORDER", signal_strength=1)
            raised(partial(client.instance(INSTANCE).process, observation))
    assert server.requests[0].json == {"mode_target": "ORDER", "signal_strength": 1}
