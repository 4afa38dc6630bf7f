"""Writes the lock files: tools and dependencies with versions and checksums.

python tools/lock.py

Packages in both files have the same version.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

OPTIONS = [
    "--universal",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--upgrade",
    "--quiet",
]

EXTRAS = ["langchain", "openai-agents", "pydantic-ai"]


def main() -> int:
    """Runs ``uv pip compile`` from the environment of ``environment.py``."""
    made = compiled("requirements", "--python-version=3.10")
    extras = [f"--extra={name}" for name in EXTRAS]
    same = "--constraint=requirements.lock"
    return made or compiled("requirements-adapters", "--python-version=3.11", same, *extras)


def compiled(name: str, *options: str) -> int:
    """Writes ``name.lock`` from ``name.in`` and the project file. Returns the exit code."""
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "compile", f"{name}.in", "pyproject.toml", *OPTIONS, *options]
    ran = subprocess.run(
        [*command, "--output-file", f"{name}.lock"], cwd=PACKAGE, check=False, timeout=300
    )
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
