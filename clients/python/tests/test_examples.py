"""Runs the examples against a real service."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path

from PIL import Image

from identity_engine import UnacknowledgedBatch

PACKAGE = Path(__file__).resolve().parent.parent
RUN_S_MAX = 50


def run(name: str, *args: str, folder: Path) -> str:
    command = [sys.executable, str(PACKAGE / "examples" / name), *args]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=RUN_S_MAX, cwd=folder, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_agent_example_changes_its_behavior(service: str, tmp_path: Path) -> None:
    lines = run("agent_loop.py", "10", folder=tmp_path).splitlines()
    assert lines[0] == "1: LOW; deployed twice, failed twice"
    assert lines[-1].startswith("10: HIGH; The tool deploy was not run"), lines


def test_fleet_example_reports_every_observation(service: str, tmp_path: Path) -> None:
    said = run("fleet.py", "1000", "5", folder=tmp_path)
    assert "5000 observations of 1000 agents" in said
    assert "0 rejected, 0 batches left" in said


def test_fleet_example_keeps_old_and_unsent_batches(service: str, tmp_path: Path) -> None:
    old = UnacknowledgedBatch(
        instance_id="inst_0123456789abcdef",
        idempotency_key="k",
        observations=({"timestamp": "2026-01-01T00:00:00.000Z"},),
        may_have_happened=True,
        first_sent_at=datetime.now(timezone.utc) - timedelta(hours=25),
    )
    left = tmp_path / "fleet-unacknowledged.json"
    left.write_text(f"[{old.model_dump_json()}]")
    assert "10 observations of 5 agents" in run("fleet.py", "5", "2", folder=tmp_path)
    assert [each["idempotency_key"] for each in json.loads(left.read_text())] == ["k"]


def test_notebook_draws_a_day(service: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from picture import PICTURE, notebook_picture

        made = notebook_picture(tmp_path)
    with Image.open(made) as image, Image.open(PICTURE) as committed:
        assert image.size == committed.size
        assert image.convert("L").getextrema()[0] < 40
    assert PICTURE.stat().st_size < 100_000
