"""Prompt of a contract: a short English text for the instructions of a language model.

The text names only values of closed vocabularies, and no numbers, names, descriptions or contexts.
Equal contracts give equal text, so a prompt cache stays valid. The text equals that of the
TypeScript client, byte by byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypedDict, cast

from identity_engine._agent.nearest import problem_of
from identity_engine._agent.tables import TABLES
from identity_engine.errors import ConfigurationError

if TYPE_CHECKING:
    from identity_engine.models import Contract  # imports this module

Phrases = Mapping[str, str]
"""Phrases by value of a vocabulary."""


class Wording(TypedDict):
    """Wording of a prompt. Users can replace every text, for another language or tone.

    ``{}`` in a sentence stands for a list of phrases, ``{tool}`` for the name of a tool.
    """

    version: str
    """Version of the table. A change of any text is a new version."""
    opening: str
    manner: str
    leaning: str
    fine: str
    avoided: str
    separators: Phrases
    """Separators of phrases: between labels (``manner``), and between actions (``actions``)."""
    tempo: Phrases
    risk: Phrases
    expressiveness: Phrases
    commitment: Phrases
    actions: Phrases
    """Phrases in the order of the vocabulary, which is the order of actions in the text."""
    stress: Phrases
    """Sentences by stress state. An empty sentence is left out."""
    tired: str
    exhausted: str
    recovery: Phrases
    """Sentences by preferred path of recovery."""
    support: str
    cooldown: str
    refused: str
    """Answer to a call of a tool whose actions ``{}`` the contract forbids."""
    unmapped: str
    """Answer to a call of a tool without actions, if such tools are refused."""
    unknown: str
    """Answer to a call of a tool while the contract is unknown, if such calls are refused."""


WordingChanges = Mapping[str, str | Phrases]
"""Texts to replace, by the names of ``Wording``. Phrases that a change lacks are kept."""

WORDING: Final[Wording] = TABLES["wording"]
"""Default wording."""

TIRED_BELOW = 0.3
"""Energy below which the text says tired."""

EXHAUSTED_BELOW = 0.15
"""Energy below which the text says nearly exhausted."""

LEANING_MAX = 2
"""Number of allowed actions that the text names first, in the order of the contract."""


def wording_with(changes: WordingChanges) -> Wording:
    """Returns the default wording with some texts replaced.

    Raises:
        ConfigurationError: A change names an unknown part, or has the wrong type.
    """
    merged: dict[str, object] = dict(WORDING)
    for part, change in changes.items():
        problem = problem_of("part of the wording", part, merged)
        if problem is not None:
            raise ConfigurationError(problem)
        text = cast("str | Phrases", merged[part])
        if isinstance(text, str) != isinstance(change, str):
            kind = "a text" if isinstance(text, str) else "a mapping of phrases"
            raise ConfigurationError(f"the part {part} of the wording must be {kind}")
        merged[part] = change if isinstance(text, str) else {**text, **cast(Phrases, change)}
    return cast(Wording, merged)


def contract_prompt(contract: Contract, wording: Wording | None = None) -> str:
    """Returns the prompt of a contract: a few sentences separated by line breaks.

    Leaves out values that the wording lacks, because a later release may have more values.

    Args:
        contract: The contract.
        wording: Texts of the prompt; default ``WORDING``.
    """
    words = WORDING if wording is None else wording
    phrases, separators = words["actions"], words["separators"]
    style, recovery = contract.decision_style, contract.recovery_profile
    manner = [
        words["tempo"].get(style.tempo, ""),
        words["risk"].get(style.risk, ""),
        words["expressiveness"].get(style.expressiveness, ""),
        words["commitment"].get(style.commitment_threshold, ""),
    ]

    def listed(names: Sequence[str]) -> str:
        return separators["actions"].join(phrases[name] for name in names)

    known = [name for name in contract.allowed_actions if phrases.get(name, "") != ""]
    fine = [name for name in phrases if name in known[LEANING_MAX:]]
    avoided = [name for name in phrases if name in contract.forbidden_actions]
    allowed = [
        filled(words["leaning"], listed(known[:LEANING_MAX])),
        filled(words["fine"], listed(fine)),
    ]
    lines = [
        words["opening"],
        filled(words["manner"], separators["manner"].join(label for label in manner if label)),
        " ".join(text for text in allowed if text),
        filled(words["avoided"], listed(avoided)),
        words["stress"].get(contract.stress_state, ""),
        _energy_text(words, contract.energy_level),
        words["recovery"].get(recovery.preferred_path, ""),
        words["support"] if recovery.support_required else "",
        words["cooldown"] if recovery.cooldown_required else "",
    ]
    return "\n".join(line for line in lines if line)


def filled(sentence: str, listed: str) -> str:
    """Returns a sentence with its list; empty if the list is empty."""
    return "" if listed == "" else sentence.replace("{}", listed, 1)


def _energy_text(words: Wording, energy: float) -> str:
    if energy < EXHAUSTED_BELOW:
        return words["exhausted"]
    return words["tired"] if energy < TIRED_BELOW else ""
