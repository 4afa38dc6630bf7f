"""Writes ``requirements.lock``: tools and dependencies with versions and checksums.

python tools/lock.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

OPTIONS = [
    "--universal",
    "--generate-hashes",
    *("--python-version", "3.10"),
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--upgrade",
    "--quiet",
]


def main() -> int:
    """Runs ``uv pip compile`` from the environment of ``environment.py``."""
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "compile", "requirements.in", "pyproject.toml", *OPTIONS]
    ran = subprocess.run(
        [*command, "--output-file", "requirements.lock"], cwd=PACKAGE, check=False, timeout=300
    )
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
