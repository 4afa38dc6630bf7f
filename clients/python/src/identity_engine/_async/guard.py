"""A guard that checks actions against the newest contract."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

from identity_engine._core.guards import Seen, newest
from identity_engine._core.process import Lock
from identity_engine.actions import KnownAction, is_known_action
from identity_engine.errors import (
    ActionForbiddenError,
    ConfigurationError,
    NoContractError,
    StaleContractError,
    UnknownActionError,
)
from identity_engine.models import Contract
from identity_engine.results import Result

Verdict = Literal["allowed", "forbidden", "open"]
"""``open``: the contract neither allows nor forbids the action, so the caller decides."""


class AsyncContractGuard:
    """Holds the newest contract that its handle has received. Thread-safe."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Result[Contract]]],
        max_age_s: float | None,
        monotonic_s: Callable[[], float],
    ) -> None:
        if max_age_s is not None and not max_age_s >= 0:
            raise ConfigurationError(f"max_age_s must be at least 0 seconds, not {max_age_s}")
        self._fetch = fetch
        self._monotonic_s = monotonic_s
        self._lock = Lock()
        self._held: Seen | None = None
        self._reset_s = -math.inf
        self.max_age_s = max_age_s
        """Maximum age of the contract in seconds; None for any age."""

    @property
    def contract(self) -> Contract | None:
        """The newest contract; None before the first contract."""
        held = self._held
        return None if held is None else held.contract

    @property
    def age_s(self) -> float | None:
        """Age of the contract in seconds; None without a contract.

        The age starts when the contract was requested, or when the event arrived.
        """
        held = self._held
        return None if held is None else self._monotonic_s() - held.began_s

    def verdict(self, action: KnownAction) -> Verdict:
        """Returns the contract's verdict on an action.

        Raises:
            UnknownActionError: Neither this version nor the contract lists the action.
            NoContractError: No contract was received yet.
            StaleContractError: The contract is older than ``max_age_s``.
        """
        if not is_known_action(action) and not self._names(action):
            raise UnknownActionError(action)
        contract = self._current()
        if action in contract.forbidden_actions:
            return "forbidden"
        return "allowed" if action in contract.allowed_actions else "open"

    def allows(self, action: KnownAction) -> bool:
        """Whether the contract does not forbid an action.

        Raises:
            UnknownActionError: Neither this version nor the contract lists the action.
            NoContractError: No contract was received yet.
            StaleContractError: The contract is older than ``max_age_s``.
        """
        return self.verdict(action) != "forbidden"

    def require(self, action: KnownAction) -> None:
        """Raises if the contract forbids the action.

        Raises:
            ActionForbiddenError: The contract forbids the action.
            UnknownActionError: Neither this version nor the contract lists the action.
            NoContractError: No contract was received yet.
            StaleContractError: The contract is older than ``max_age_s``.
        """
        if not self.allows(action):
            raise ActionForbiddenError(action)

    def update(
        self, contract: Contract, *, began_s: float | None = None, cycle: int | None = None
    ) -> None:
        """Stores a contract, unless the stored contract has a later cycle or request.

        Args:
            contract: The contract.
            began_s: Time of the contract's request, from ``time.monotonic()``; default now.
            cycle: Cycle of the accompanying snapshot, if any.
        """
        now_s = self._monotonic_s()
        self._take(Seen(contract, now_s if began_s is None else began_s, now_s, cycle))

    async def refresh(self) -> Contract:
        """Requests and stores the current contract. Raises the errors of the request."""
        await self._fetch()
        return self._current()

    def _names(self, action: str) -> bool:
        """Whether the contract lists an action. A later service may list actions that are new."""
        contract = self.contract
        if contract is None:
            return False
        return action in contract.allowed_actions or action in contract.forbidden_actions

    def _current(self) -> Contract:
        held = self._held
        if held is None:
            raise NoContractError(
                "the guard has no contract yet; await refresh() or process an observation"
            )
        age_s = self._monotonic_s() - held.began_s
        if self.max_age_s is not None and age_s > self.max_age_s:
            raise StaleContractError(age_s, self.max_age_s)
        return held.contract

    def _take(self, seen: Seen) -> None:
        with self._lock:
            if seen.began_s >= self._reset_s:
                self._held = newest(self._held, seen)

    def _begin_again(self, began_s: float) -> None:
        with self._lock:
            self._reset_s = max(self._reset_s, began_s)
            if self._held is not None:
                self._held = replace(self._held, cycle=None)
