"""Decides which tools an agent may use under a contract."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, cast, get_args

from identity_engine._agent.contract_prompt import WORDING, Wording, filled
from identity_engine._agent.nearest import problem_of
from identity_engine.actions import ACTIONS, KnownAction
from identity_engine.errors import ToolMapError
from identity_engine.models import Contract

ToolMode = Literal["refuse", "hide", "observe"]
"""Treatment of tools whose actions the contract forbids.

- ``refuse``: the model sees every tool, and a forbidden call is answered with a sentence. The list
  of tools stays the same, so prompt caches stay valid.
- ``hide``: the model sees only permitted tools. A forbidden call is refused too, because models
  call tools that they do not see.
- ``observe``: every call runs.
"""

Unmapped = Literal["allow", "refuse"]
"""Treatment of tools that the map lacks."""

ToolActions = Mapping[str, KnownAction | Sequence[KnownAction] | None]
"""Actions by tool name. A tool without actions (None) is free."""

NO_TOOLS: Final[ToolActions] = {}


class ToolPolicy:
    """Decides which tools an agent may use under a contract.

    A tool with several actions is refused if the contract forbids one of its actions. Actions in
    neither list of the contract are free. Without a contract, every mapped tool is permitted.

    Args:
        actions: Actions by tool name.
        mode: Treatment of forbidden tools.
        unmapped: Treatment of tools that ``actions`` lacks.
        tools: Names of the agent's tools, to check the names in ``actions``; default no check.
        wording: Wording of refusals; default ``WORDING``.

    Raises:
        ToolMapError: An action or option is unknown, or ``tools`` lacks a tool of ``actions``.
    """

    def __init__(
        self,
        actions: ToolActions = NO_TOOLS,
        *,
        mode: ToolMode = "refuse",
        unmapped: Unmapped = "allow",
        tools: Iterable[str] | None = None,
        wording: Wording | None = None,
    ) -> None:
        _require_option("mode", mode, get_args(ToolMode))
        _require_option("unmapped", unmapped, get_args(Unmapped))
        self.mode: ToolMode = mode
        """Treatment of tools whose actions the contract forbids."""
        self._unmapped = unmapped
        self._wording = WORDING if wording is None else wording
        names = None if tools is None else list(tools)
        self._actions: dict[str, tuple[KnownAction, ...]] = {}
        for tool, named in actions.items():
            if names is not None:
                _require_known("tool", tool, names)
            self._actions[tool] = _checked_actions(named)

    def actions_of(self, tool: str) -> tuple[KnownAction, ...]:
        """Returns the actions of a tool; empty for a free or an unmapped tool."""
        return self._actions.get(tool, ())

    def offered(self, tools: Iterable[str], contract: Contract | None) -> list[str]:
        """Returns the tools that the model may see, in the given order."""
        if self.mode != "hide":
            return list(tools)
        return [tool for tool in tools if self._reason_against(tool, contract) is None]

    def refusal_of(self, tool: str, contract: Contract | None) -> str | None:
        """Returns the sentence that answers a call instead of running the tool.

        None if the tool may run. The sentence contains no arguments of the call.
        """
        return None if self.mode == "observe" else self._reason_against(tool, contract)

    def _reason_against(self, tool: str, contract: Contract | None) -> str | None:
        words = self._wording
        actions = self._actions.get(tool)
        if actions is None:
            is_free = self._unmapped == "allow"
            return None if is_free else words["unmapped"].replace("{tool}", tool, 1)
        banned: Sequence[str] = () if contract is None else contract.forbidden_actions
        forbidden = [action for action in actions if action in banned]
        if not forbidden:
            return None
        phrases = [words["actions"].get(action, action) for action in forbidden]
        sentence = filled(words["refused"], words["separators"]["actions"].join(phrases))
        return sentence.replace("{tool}", tool, 1)


def _checked_actions(named: object) -> tuple[KnownAction, ...]:
    """Returns the actions of a tool as a tuple. Raises ``ToolMapError`` for an unknown action."""
    if named is None:
        return ()
    is_list = isinstance(named, Iterable) and not isinstance(named, str)
    listed = tuple(cast("Iterable[object]", named)) if is_list else (named,)
    for action in listed:
        _require_known("action", action, ACTIONS)
    return cast("tuple[KnownAction, ...]", listed)


def _require_known(kind: str, given: object, known: Sequence[str]) -> None:
    problem = problem_of(kind, given, known)
    if problem is not None:
        raise ToolMapError(problem)


def _require_option(name: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise ToolMapError(f"{name} must be {', '.join(known)}, not {json.dumps(given)}")
