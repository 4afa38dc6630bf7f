from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from both_clients import Kind


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--outcomes=FILE``: a line of JSON for every test, for the runner of the whole project."""
    parser.addoption("--outcomes", help="write the outcome of every test to this file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--outcomes")
    if path is not None:
        config.pluginmanager.register(Outcomes(Path(path)), "outcomes")


class Outcomes:
    """Writes what came of every test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._path.write_text("", "utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        line = {"name": report.nodeid, "outcome": report.outcome, "text": report.longreprtext}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


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
