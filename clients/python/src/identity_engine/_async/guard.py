"""A guard of actions: what the newest contract says of them."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Literal

from identity_engine.errors import ActionForbiddenError, NoContractError, StaleContractError
from identity_engine.models import Action, Contract
from identity_engine.results import Result

Verdict = Literal["allowed", "forbidden", "open"]
"""``open``: the contract names the action in neither list and leaves it to the caller."""


class AsyncContractGuard:
    """Holds the newest contract that its handle has received. Safe to use from several threads."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Result[Contract]]],
        max_age_s: float | None,
        monotonic_s: Callable[[], float],
    ) -> None:
        self._fetch = fetch
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._held: tuple[Contract, float] | None = None
        self.max_age_s = max_age_s
        """How old the contract may be, in seconds; None: any age."""

    @property
    def contract(self) -> Contract | None:
        """The contract that is held; None before the first one."""
        held = self._held
        return None if held is None else held[0]

    @property
    def age_s(self) -> float | None:
        """Seconds since the request that brought the contract began; None without one."""
        held = self._held
        return None if held is None else self._monotonic_s() - held[1]

    def verdict(self, action: Action) -> Verdict:
        """What the contract says of an action.

        Raises:
            NoContractError: No contract was seen yet.
            StaleContractError: The contract is older than ``max_age_s``.
        """
        contract = self._current()
        if action in contract.forbidden_actions:
            return "forbidden"
        return "allowed" if action in contract.allowed_actions else "open"

    def allows(self, action: Action) -> bool:
        """Whether the contract does not forbid an action.

        Raises:
            NoContractError: No contract was seen yet.
            StaleContractError: The contract is older than ``max_age_s``.
        """
        return self.verdict(action) != "forbidden"

    def require(self, action: Action) -> None:
        """Does nothing unless the contract forbids the action.

        Raises:
            ActionForbiddenError: It does.
            NoContractError: No contract was seen yet.
            StaleContractError: The contract is older than ``max_age_s``.
        """
        if not self.allows(action):
            raise ActionForbiddenError(action)

    def update(self, contract: Contract, *, began_s: float | None = None) -> None:
        """Takes a contract, unless its request began before that of the held one.

        Args:
            contract: The contract.
            began_s: When its request began, by ``time.monotonic()``; now if left out.
        """
        began = self._monotonic_s() if began_s is None else began_s
        with self._lock:
            if self._held is None or began >= self._held[1]:
                self._held = (contract, began)

    async def refresh(self) -> Contract:
        """Asks the service for the present contract, and holds it. Raises what ``contract``
        raises.
        """
        await self._fetch()
        return self._current()

    def _current(self) -> Contract:
        held = self._held
        if held is None:
            raise NoContractError("no contract was seen yet: await refresh() or process first")
        contract, began_s = held
        age_s = self._monotonic_s() - began_s
        if self.max_age_s is not None and age_s > self.max_age_s:
            raise StaleContractError(age_s, self.max_age_s)
        return contract
