"""Formats generated code like all other code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def formatted(text: str, path: Path) -> str:
    """Sorts imports and applies ``ruff format`` to the text of a file at ``path``."""
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        program = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        ran = subprocess.run(
            program, input=text, capture_output=True, text=True, check=True, timeout=60
        )
        text = ran.stdout
    return text
