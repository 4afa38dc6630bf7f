"""How generated code is formatted: as all other code is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def formatted(text: str, path: Path) -> str:
    """The text of a file that will be at ``path``, with imports sorted and as ``ruff format`` has
    it.
    """
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        program = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        ran = subprocess.run(
            program, input=text, capture_output=True, text=True, check=True, timeout=60
        )
        text = ran.stdout
    return text
