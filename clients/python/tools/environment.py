"""Creates an environment of this package from a lock file.

    python3 tools/environment.py            .venv from requirements.lock
    python3 tools/environment.py adapters   .venv-adapters from requirements-adapters.lock

Runs with any Python from 3.10, without installed packages; the frameworks of the adapters need
Python 3.11. A second run does nothing unless the lock, the project file, the Python or the path has
changed. Concurrent runs are safe.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
SUFFIX = "".join(f"-{name}" for name in sys.argv[1:])
FOLDER = PACKAGE / f".venv{SUFFIX}"
LOCK = f"requirements{SUFFIX}.lock"
STAMP = FOLDER / "made-from"
PYTHON = FOLDER / "bin" / "python"

UV = "uv==0.13.9"
"""Installer: uv needs seconds, pip a minute."""

INSTALL_S_MAX = 600


def main() -> int:
    """Creates the environment unless it is up to date."""
    with open(PACKAGE / f"{FOLDER.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = fingerprint()
        if STAMP.exists() and STAMP.read_text() == wanted:
            return 0
        shutil.rmtree(FOLDER, ignore_errors=True)
        venv.create(FOLDER, with_pip=True)
        install()
        STAMP.write_text(wanted)
    return 0


def fingerprint() -> str:
    """Text that changes with everything that the environment depends on."""
    digest = hashlib.sha256()
    for name in (LOCK, "pyproject.toml", "tools/environment.py"):
        digest.update((PACKAGE / name).read_bytes())
    return f"{digest.hexdigest()} {sys.version} {sys.executable} {PACKAGE}"


def install() -> None:
    """Installs the locked packages, and this package in editable mode."""
    pip = [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    run([*pip, UV])
    locked = ["--require-hashes", "-r", LOCK]
    try:
        uv = [str(PYTHON), "-m", "uv", "--quiet", "pip", "install", "--python", str(PYTHON)]
        run([*uv, "--compile-bytecode", *locked])
    except subprocess.CalledProcessError:
        # Fall back to pip: maybe only pip is configured for the proxy or the index.
        run([*pip, *locked])
    run([*pip, "--no-deps", "--no-build-isolation", "--editable", "."])


def run(command: list[str]) -> None:
    """Runs a program in the package folder. Raises if the program fails."""
    env = {**os.environ, "SSL_CERT_FILE": os.environ.get("PIP_CERT", "")}
    if env["SSL_CERT_FILE"] == "":
        del env["SSL_CERT_FILE"]
    subprocess.run(command, cwd=PACKAGE, env=env, check=True, timeout=INSTALL_S_MAX)


if __name__ == "__main__":
    sys.exit(main())
