"""The examples run against a real service."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

from PIL import Image

PACKAGE = Path(__file__).resolve().parent.parent
RUN_S_MAX = 50


def run(name: str, *args: str, folder: Path) -> str:
    command = [sys.executable, str(PACKAGE / "examples" / name), *args]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=RUN_S_MAX, cwd=folder, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_agent_obeys_its_contract(service: str, tmp_path: Path) -> None:
    said = run("agent_loop.py", "40", folder=tmp_path)
    replaced = re.search(r"40 turns, (\d+) proposals replaced", said)
    assert replaced is not None, said
    assert int(replaced.group(1)) > 0, "the contract forbade nothing"


def test_all_observations_of_a_fleet_count(service: str, tmp_path: Path) -> None:
    said = run("fleet.py", "60", "15", folder=tmp_path)
    assert "900 observations of 60 agents" in said
    assert "0 rejected, 0 batches left" in said


def test_the_notebook_draws_a_day(service: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from picture import PICTURE, notebook_picture

        made = notebook_picture(tmp_path)
    with Image.open(made) as image, Image.open(PICTURE) as committed:
        assert image.size == committed.size
        assert image.convert("L").getextrema()[0] < 40
    assert PICTURE.stat().st_size < 100_000
