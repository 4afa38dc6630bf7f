"""Actions known to this version: constants, and a closed type for type checkers."""

from __future__ import annotations

from typing import Final, Literal, TypeGuard

KnownAction = Literal[
    "explore",
    "question",
    "elaborate",
    "suggest",
    "execute",
    "pivot",
    "challenge",
    "comfort",
    "clarify",
    "stabilize",
    "defer",
    "withdraw",
]
"""An action of interface 2.6. ``models.Action`` also admits actions of later service releases."""

EXPLORE: Final = "explore"
QUESTION: Final = "question"
ELABORATE: Final = "elaborate"
SUGGEST: Final = "suggest"
EXECUTE: Final = "execute"
PIVOT: Final = "pivot"
CHALLENGE: Final = "challenge"
COMFORT: Final = "comfort"
CLARIFY: Final = "clarify"
STABILIZE: Final = "stabilize"
DEFER: Final = "defer"
WITHDRAW: Final = "withdraw"

ACTIONS: Final[tuple[KnownAction, ...]] = (
    *(EXPLORE, QUESTION, ELABORATE, SUGGEST, EXECUTE, PIVOT),
    *(CHALLENGE, COMFORT, CLARIFY, STABILIZE, DEFER, WITHDRAW),
)
"""All actions known to this version."""


def is_known_action(word: object) -> TypeGuard[KnownAction]:
    """Whether a value, such as a language model's answer, is the exact name of a known action."""
    return isinstance(word, str) and word in ACTIONS
