"""Checks of names. An error message suggests the nearest known name."""

from __future__ import annotations

import json
from collections.abc import Collection
from difflib import get_close_matches


def problem_of(kind: str, given: object, known: Collection[str]) -> str | None:
    """Returns why a name is unknown, with the nearest name. None for a known name."""
    if not isinstance(given, str):
        return f"unknown {kind} {given!r}; known: {', '.join(known)}"
    if given in known:
        return None
    by_lower = {name.lower(): name for name in known}
    nearest = get_close_matches(given.lower(), by_lower, n=1)
    hint = f'did you mean "{by_lower[nearest[0]]}"?' if nearest else f"known: {', '.join(known)}"
    return f"unknown {kind} {json.dumps(given)}; {hint}"
