"""Makes the environment of this package in ``.venv``, from ``requirements.lock``.

    python3 tools/environment.py            then .venv/bin/pytest and so on

Runs with any Python from 3.10 and nothing installed. The second time it only compares: the
environment is made again when the lock, the project file, the Python or the path is another one.
Runs beside itself safely.
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
FOLDER = PACKAGE / ".venv"
STAMP = FOLDER / "made-from"
PYTHON = FOLDER / "bin" / "python"

UV = "uv==0.13.9"
"""Installs a hundred packages in seconds; pip takes a minute."""

INSTALL_S_MAX = 600


def main() -> int:
    """Makes the environment unless it is there."""
    with open(PACKAGE / ".venv.lock", "w") as lock:
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
    """What the environment depends on, as one text."""
    digest = hashlib.sha256()
    for name in ("requirements.lock", "pyproject.toml", "tools/environment.py"):
        digest.update((PACKAGE / name).read_bytes())
    return f"{digest.hexdigest()} {sys.version} {sys.executable} {PACKAGE}"


def install() -> None:
    """Installs what the lock names, and this package in place."""
    pip = [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    run([*pip, UV])
    locked = ["--require-hashes", "-r", "requirements.lock"]
    try:
        uv = [str(PYTHON), "-m", "uv", "--quiet", "pip", "install", "--python", str(PYTHON)]
        run([*uv, *locked])
    except subprocess.CalledProcessError:
        # A proxy or an index that only pip is set up for.
        run([*pip, *locked])
    run([*pip, "--no-deps", "--no-build-isolation", "--editable", "."])


def run(command: list[str]) -> None:
    """Runs a program in the folder of the package. Raises where it fails."""
    env = {**os.environ, "SSL_CERT_FILE": os.environ.get("PIP_CERT", "")}
    if env["SSL_CERT_FILE"] == "":
        del env["SSL_CERT_FILE"]
    subprocess.run(command, cwd=PACKAGE, env=env, check=True, timeout=INSTALL_S_MAX)


if __name__ == "__main__":
    sys.exit(main())
