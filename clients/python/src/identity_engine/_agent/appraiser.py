"""Appraisal: turns a finished turn of an agent into one observation, or into none."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypedDict, cast, get_args

from identity_engine._agent.tables import TABLES
from identity_engine.actions import KnownAction
from identity_engine.errors import AppraisalError, ConfigurationError
from identity_engine.models import Contract, ModeStrengths, ModeTarget

ToolOutcome = Literal["ok", "error", "refused"]
"""Result of a tool call in a turn. ``refused``: the tool policy answered the call."""

TurnOutcome = Literal["completed", "failed", "aborted", "unavailable"]
"""End of a turn.

``failed``: the agent's own run failed. ``aborted``: a user or program stopped the run.
``unavailable``: a provider or network failed, which says nothing about the agent.
"""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call in a turn."""

    tool: str
    """Name of the tool."""
    outcome: ToolOutcome
    """Result of the call."""
    actions: Sequence[KnownAction]
    """Actions of the tool, from the tool policy."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished turn of an agent, for an appraiser."""

    outcome: TurnOutcome
    """End of the turn."""
    tools: Sequence[ToolUse]
    """Tool calls in the order of their ends."""
    contract: Contract | None
    """Contract of the turn; None if the service was away."""
    set_point: ModeStrengths | None
    """Set-point of the instance; None if unknown."""
    input: str | None = None
    """The user's input, if the caller supplied it. Never sent."""
    output: str | None = None
    """The agent's output, if the caller supplied it. Never sent."""


@dataclass(frozen=True, slots=True)
class Appraisal:
    """The observation that a turn gives."""

    mode_target: ModeTarget
    """Mode that the turn showed."""
    signal_strength: float
    """Strength of the mode, 0 to 1."""
    confidence: float
    """Confidence, 0 to 1."""


Appraised = Appraisal | Mapping[str, Any] | None
"""Result of an appraiser. A mapping, such as a model's answer, has the fields of ``Appraisal``."""

Appraiser = Callable[[Turn], Appraised]
"""Turns a finished turn into one observation, or into none."""

AsyncAppraiser = Callable[[Turn], Appraised | Awaitable[Appraised]]
"""An appraiser on an event loop: a function, with or without ``async``."""


class AppraisalRule(TypedDict):
    """A row of the rules. The first row whose condition holds gives the observation."""

    when: Literal["failed", "errors", "error"] | Sequence[KnownAction]
    """``failed``, ``errors`` (two failed tool calls), ``error`` (one), or actions of tools that
    ran.
    """
    mode: ModeTarget
    strength: float
    """Strength towards which the observation points, 0 to 1."""
    confidence: float


class AppraisalRules(TypedDict):
    """A table of rules."""

    version: str
    """Version of the table. A change of any row is a new version."""
    share_of_way: float
    """Share of the way from the set-point to the strength of a row."""
    rules: Sequence[AppraisalRule]


APPRAISAL_RULES: Final[AppraisalRules] = TABLES["appraisal_rules"]
"""Default rules.

Stress rows send their strength: repeated readings approach this strength and never exceed it. Other
rows send a strength on the way from the set-point to the row, so that an agent's ordinary work is
no departure from its character.
"""

APPRAISAL_SCHEMA: Final[dict[str, Any]] = TABLES["appraisal_schema"]
"""JSON schema of an appraisal, for the structured output of a language model."""

APPRAISAL_INSTRUCTIONS: Final[str] = TABLES["appraisal_instructions"]
"""Instructions for a language model that appraises a turn, with ``APPRAISAL_SCHEMA``."""

CONDITIONS = ("failed", "errors", "error")

MODE_TARGETS: tuple[str, ...] = get_args(ModeTarget.__value__)

STRESSED = ("HIGH", "OVER")
"""Stress states in which a single failed tool call sends nothing: a reading below the present
stress would relieve the agent.
"""


def rule_appraiser(
    rules: Sequence[AppraisalRule] | None = None,
) -> Callable[[Turn], Appraisal | None]:
    """Returns an appraiser that follows rules.

    An aborted turn, an unavailable provider and refused tools give no observation, because they are
    not the agent's doing. A turn without tools gives none either: rules cannot read a tone.

    Args:
        rules: Rows in order; default ``APPRAISAL_RULES["rules"]``.

    Raises:
        ConfigurationError: A row has an unknown condition.
    """
    rows = APPRAISAL_RULES["rules"] if rules is None else tuple(rules)
    for row in rows:
        if isinstance(row["when"], str) and row["when"] not in CONDITIONS:
            raise ConfigurationError(
                f"when must be {', '.join(CONDITIONS)} or a list of actions, not {row['when']!r}"
            )

    def appraise(turn: Turn) -> Appraisal | None:
        if turn.outcome in ("aborted", "unavailable"):
            return None
        row = next((row for row in rows if _holds(row["when"], turn)), None)
        if row is None:
            return None
        mode, strength = row["mode"], row["strength"]
        if mode != "STRESS_RESPONSE":
            strength = _on_the_way(strength, mode, turn.set_point)
        return Appraisal(mode, strength, row["confidence"])

    return appraise


def _holds(when: str | Sequence[KnownAction], turn: Turn) -> bool:
    if when == "failed":
        return turn.outcome == "failed"
    errors = sum(use.outcome == "error" for use in turn.tools)
    if when == "errors":
        return errors > 1
    if when == "error":
        is_stressed = turn.contract is not None and turn.contract.stress_state in STRESSED
        return errors == 1 and not is_stressed
    done = {action for use in turn.tools if use.outcome == "ok" for action in use.actions}
    return any(action in done for action in when)


def _on_the_way(strength: float, mode: ModeTarget, set_point: ModeStrengths | None) -> float:
    home = getattr(set_point, mode.lower(), None)
    if not isinstance(home, (int, float)):
        return strength
    # Rounds halves up, as the TypeScript client does.
    signal = home + APPRAISAL_RULES["share_of_way"] * (strength - home)
    return math.floor(signal * 1e6 + 0.5) / 1e6


def checked_appraisal(given: Appraisal | Mapping[str, Any]) -> Appraisal:
    """Checks an appraisal, for example of a language model.

    Raises:
        AppraisalError: A field is missing or invalid.
    """
    if isinstance(given, Appraisal):
        fields: Mapping[str, Any] = asdict(given)
    elif isinstance(given, Mapping):
        fields = given
    else:
        raise AppraisalError(f"an appraiser must return an appraisal, not {type(given).__name__}")
    mode = fields.get("mode_target")
    if mode not in MODE_TARGETS:
        raise AppraisalError(f"mode_target must be one of {', '.join(MODE_TARGETS)}")
    strength = _share_of(fields, "signal_strength")
    confidence = _share_of(fields, "confidence")
    return Appraisal(cast(ModeTarget, mode), strength, confidence)


def _share_of(fields: Mapping[str, Any], name: str) -> float:
    value = fields.get(name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and 0 <= cast(float, value) <= 1:
        return cast(float, value)
    raise AppraisalError(f"{name} must be a number from 0 to 1")
