"""Runs the example notebook against a real service, and writes the README's picture.

    IDENTITY_ENGINE_API_KEY=svc_sk_… python tools/picture.py

The tests use ``notebook_picture``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

PACKAGE = Path(__file__).resolve().parent.parent
NOTEBOOK = PACKAGE / "examples" / "day_of_an_agent.ipynb"
PICTURE = PACKAGE / "docs" / "day-of-an-agent.png"
RUN_S_MAX = 120


def main() -> int:
    """Writes the picture with few colors, to keep the file small."""
    with tempfile.TemporaryDirectory() as folder:
        made = notebook_picture(Path(folder))
        with Image.open(made) as image:
            image.convert("RGB").quantize(128).save(PICTURE, optimize=True)
    return 0


def notebook_picture(folder: Path) -> Path:
    """Executes all cells with ``folder`` as working folder and returns the saved picture."""
    os.environ["MPLBACKEND"] = "agg"
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=RUN_S_MAX, resources=resources).execute()
    return folder / "day-of-an-agent.png"


if __name__ == "__main__":
    sys.exit(main())
