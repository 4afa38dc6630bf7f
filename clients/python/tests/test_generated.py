"""What is generated is as its sources make it, and the two clients are alike."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import generate_models
import generate_sync
import identity_engine
from identity_engine import AsyncIdentityEngine, IdentityEngine, models
from identity_engine._core.model import Model

PACKAGE = Path(__file__).resolve().parent.parent


def test_models_are_as_their_source() -> None:
    assert generate_models.generated() == generate_models.TARGET.read_text("utf-8")


def test_the_sync_client_is_made_of_the_async_one() -> None:
    made = {path.name: generate_sync.generated(path) for path in generate_sync.SOURCE.glob("*.py")}
    made["__init__.py"] = generate_sync.DOCSTRING
    there = {path.name: path.read_text("utf-8") for path in generate_sync.TARGET.glob("*.py")}
    assert made == there
    for name, text in made.items():
        assert "await" not in text, name
        assert "async" not in text.replace("_async", ""), name


GROUPS = ["instances", "personas", "tests", "account", "audit", "billing"]


def members(target: object) -> dict[str, list[str]]:
    """Names of public methods with their parameters."""
    methods = inspect.getmembers(target, callable)
    public = [(name, value) for name, value in methods if not name.startswith("_")]
    return {name: list(inspect.signature(value).parameters) for name, value in public}


@pytest.mark.parametrize("group", [*GROUPS, "instance", "client"])
def test_both_clients_have_the_same_surface(group: str) -> None:
    with IdentityEngine(api_key="k") as client:
        other = AsyncIdentityEngine(api_key="k")
        if group == "instance":
            assert members(client.instance("i")) == members(other.instance("i"))
        elif group == "client":
            there = members(other)
            assert members(client) == {"close": there.pop("aclose"), **there}
        else:
            assert members(getattr(client, group)) == members(getattr(other, group))


def test_the_version_is_that_of_the_service() -> None:
    package = (PACKAGE.parent.parent / "package.json").read_text("utf-8")
    assert f'"version": "{identity_engine.__version__}"' in package


def test_unknown_fields_and_values_are_kept() -> None:
    plan = models.Plan.model_validate(
        {
            "name": "platinum",
            "requests_per_minute": 1,
            "cycles_per_month": 1,
            "instances_max": 1,
            "of_later": {"x": 1},
        }
    )
    assert plan.name == "platinum"
    assert plan.model_dump()["of_later"] == {"x": 1}


def test_every_public_member_has_a_docstring() -> None:
    missing = []
    for name in identity_engine.__all__:
        value = getattr(identity_engine, name)
        if not inspect.isclass(value):
            continue
        if not inspect.getdoc(value):
            missing.append(name)
        for member, method in inspect.getmembers(value, inspect.isfunction):
            is_ours = method.__module__.startswith("identity_engine")
            if is_ours and not member.startswith("_") and not inspect.getdoc(method):
                missing.append(f"{name}.{member}")
    assert missing == []


def test_every_model_has_a_docstring_of_its_own() -> None:
    made = [value for value in vars(models).values() if inspect.isclass(value)]
    ours = [value for value in made if issubclass(value, Model) and value is not Model]
    assert len(ours) > 50
    assert [each.__name__ for each in ours if each.__doc__ in (None, Model.__doc__)] == []
