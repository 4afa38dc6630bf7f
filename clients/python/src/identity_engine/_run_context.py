"""The turn in the run context of a framework. Shared by the adapters for frameworks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from identity_engine._async.agent import AsyncAgentTurn
from identity_engine._sync.agent import AgentTurn
from identity_engine.errors import ConfigurationError

AnyTurn = AgentTurn | AsyncAgentTurn
"""A turn of either kind: the adapters use only methods that do not wait."""

TurnOf = Callable[[Any], AnyTurn | None]
"""Returns the turn of a run, from the run context; None for a run without a turn."""


def turn_in(context: Any) -> AnyTurn | None:
    """Returns the turn in a run context: the context itself, its key or attribute ``turn``."""
    if isinstance(context, Mapping):
        found = context.get("turn")
    else:
        found = context if isinstance(context, AnyTurn) else getattr(context, "turn", None)
    if found is None or isinstance(found, AnyTurn):
        return found
    raise ConfigurationError(
        f"turn must be an AgentTurn, not {type(found).__name__}: "
        'use "with agent.turn(...) as turn", or "async with"'
    )


WithoutTurn = Literal["raise", "pass"]
"""Treatment of a run without a turn: an error, or as if the adapter were absent."""


@dataclass(frozen=True)
class TurnReader:
    """Reads the turn of a run.

    Raises:
        ConfigurationError: ``without_turn`` has an unknown value.
    """

    turn_of: TurnOf
    without_turn: WithoutTurn
    remedy: str
    """How to pass a turn in the framework, for the text of the error."""

    def __post_init__(self) -> None:
        if self.without_turn not in get_args(WithoutTurn):
            raise ConfigurationError(
                f"without_turn must be raise or pass, not {self.without_turn!r}"
            )

    def turn(self, context: Any) -> AnyTurn | None:
        """Returns the turn of a run, from the run context.

        Raises:
            ConfigurationError: The run has no turn, although a turn is required.
        """
        turn = self.turn_of(context)
        if turn is None and self.without_turn == "raise":
            raise ConfigurationError(
                f'the run has no turn: {self.remedy}, or set without_turn="pass"'
            )
        return turn
