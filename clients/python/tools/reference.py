"""Writes the reference of the public API, from its docstrings, to ``reference/``.

    python tools/reference.py

The output is not committed. Start at ``reference/index.html``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pdoc

PACKAGE = Path(__file__).resolve().parent.parent
TARGET = PACKAGE / "reference"


def main() -> int:
    """Writes one page per public module."""
    # Ignore inherited fields, which use a type variable of another module.
    warnings.filterwarnings("ignore", message="Error parsing type annotation")
    pdoc.render.configure(docformat="google", show_source=False)
    pdoc.pdoc("identity_engine", output_directory=TARGET)
    return 0


if __name__ == "__main__":
    sys.exit(main())
