"""Runs every Python block of the README unchanged, in an empty folder, against a real service."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent
README = (PACKAGE / "README.md").read_text("utf-8")
ALL_BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
FRAMEWORK = re.compile(
    r"^from identity_engine\.(langchain|openai_agents|pydantic_ai) ", re.MULTILINE
)
BLOCKS = [block for block in ALL_BLOCKS if not FRAMEWORK.search(block)]
FRAMEWORK_BLOCKS = [block for block in ALL_BLOCKS if FRAMEWORK.search(block)]
"""Blocks that need a framework. ``tests/adapters`` runs these blocks."""
TITLES = re.findall(r"^## (.*)$", README, re.MULTILINE)
RUN_S_MAX = 40


def test_readme_has_code_blocks() -> None:
    assert len(BLOCKS) >= 11


@pytest.mark.parametrize("block", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_code_block_runs(block: str, service: str, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block, "utf-8")
    command = [sys.executable, "-X", "dev", "-W", "error", str(script)]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=RUN_S_MAX, cwd=tmp_path, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr


def test_every_link_points_to_a_file() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert len(links) >= 4
    assert [link for link in links if not (PACKAGE / link).exists()] == []


def test_every_error_is_listed() -> None:
    from identity_engine import errors

    own = {"IdentityEngineError", "ApiError", "ConfigurationError"}
    named = set(re.findall(r"`(\w+Error)`", README))
    assert {each.__name__ for each in errors.ERROR_CLASSES.values()} <= named | own
