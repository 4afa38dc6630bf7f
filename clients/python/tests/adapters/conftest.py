from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from langchain_driver import LangChainDriver
from openai_agents_driver import OpenAIAgentsDriver
from pydantic_ai_driver import PydanticAIDriver
from scenario import Driver

DRIVERS: list[Driver] = [LangChainDriver(), OpenAIAgentsDriver(), PydanticAIDriver()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test with each entry of each framework, or with the entries that the test marks."""
    if "driver" not in metafunc.fixturenames:
        return
    if "entry" not in metafunc.fixturenames:
        metafunc.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
        return
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    names = {name for mark in metafunc.definition.iter_markers("entries") for name in mark.args}
    pairs = [
        (driver, entry)
        for driver in DRIVERS
        for entry, kind in driver.entries.items()
        if ("streaming" not in marks or entry in driver.streaming)
        and ("on_loop" not in marks or kind == "async")
        and (names == set() or entry in names)
    ]
    ids = [f"{driver.name}-{entry}" for driver, entry in pairs]
    metafunc.parametrize(("driver", "entry"), pairs, ids=ids)


@pytest.fixture(autouse=True)
def _event_loop() -> Iterator[None]:
    """An event loop for entries without ``async``, which would not close their own."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    asyncio.set_event_loop(None)
