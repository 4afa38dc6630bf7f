"""Writes ``src/identity_engine/_sync`` from ``_async`` by replacing words.

    python tools/generate_sync.py            writes the files
    python tools/generate_sync.py --check    fails if the committed files are out of date

Change only ``_async`` by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from formatting import formatted

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "identity_engine"
SOURCE = PACKAGE / "_async"
TARGET = PACKAGE / "_sync"

WORDS = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\bGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"Callable\[(.*?), Awaitable\[(.*)\]\]( \||,|$)", r"Callable[\1, \2]\3"),
    (r"\bAwaitable, ", ""),
    (r"\bAsync([A-Z]\w+)", r"\1"),
    (r"\ba(close|read)\b", r"\1"),
    (r"\b_async\b", "_sync"),
    (r"\basync_io\b", "sync_io"),
    (r"\basynchronous\b", "synchronous"),
]
"""Regular expressions and replacements, applied in this order."""

DOCSTRING = '"""The synchronous client, generated from ``_async`` by tools/generate_sync.py."""\n'


def main() -> int:
    """Writes or compares; returns 1 if the committed text is out of date."""
    made = {path.name: generated(path) for path in sorted(SOURCE.glob("*.py"))}
    made["__init__.py"] = DOCSTRING
    if sys.argv[1:] == ["--check"]:
        there = {path.name: path.read_text("utf-8") for path in TARGET.glob("*.py")}
        differ = sorted(name for name in {*made, *there} if made.get(name) != there.get(name))
        print(f"out of date: {', '.join(differ)}" if differ else "_sync is up to date")
        return 1 if differ else 0
    for path in TARGET.glob("*.py"):
        path.unlink()
    for name, text in made.items():
        (TARGET / name).write_text(text, "utf-8")
    return 0


def generated(path: Path) -> str:
    """Converts an asynchronous file to synchronous code."""
    text = path.read_text("utf-8")
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return formatted(text, TARGET / path.name)


if __name__ == "__main__":
    sys.exit(main())
