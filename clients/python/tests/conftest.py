from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from both_clients import Kind

# Only the environment "adapters" has the frameworks.
collect_ignore = [] if find_spec("langchain") else ["adapters"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--outcomes=FILE``: a line of JSON for every test, for the project's test runner."""
    parser.addoption("--outcomes", help="write the outcome of every test to this file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--outcomes")
    if path is not None:
        config.pluginmanager.register(Outcomes(Path(path)), "outcomes")


class Outcomes:
    """Writes the outcome of every test."""

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
    """Client kind. Each test with this fixture runs with both clients."""
    kind: Kind = request.param
    return kind


@pytest.fixture
def service() -> str:
    """Address of a real service, whose key is in the environment. Skips without a service."""
    address = os.environ.get("IDENTITY_ENGINE_BASE_URL", "")
    if address == "" or os.environ.get("IDENTITY_ENGINE_API_KEY", "") == "":
        pytest.skip("no real service: set IDENTITY_ENGINE_BASE_URL and IDENTITY_ENGINE_API_KEY")
    return address
