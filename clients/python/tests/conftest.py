from __future__ import annotations

import os

import pytest

from both_clients import Kind


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each test that takes it runs with both clients."""
    kind: Kind = request.param
    return kind


@pytest.fixture
def service() -> str:
    """The address of a real service; the key is in the environment too. Skipped by name without."""
    address = os.environ.get("IDENTITY_ENGINE_BASE_URL", "")
    if address == "" or os.environ.get("IDENTITY_ENGINE_API_KEY", "") == "":
        pytest.skip("no IDENTITY_ENGINE_BASE_URL with IDENTITY_ENGINE_API_KEY: no real service")
    return address
