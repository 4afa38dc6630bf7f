"""Classification of the error that ended a turn.

Frameworks wrap the errors of providers, so the classification follows the chain of causes. Errors
are also compared by name, because the client depends on no provider's package.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final, Literal

import httpx

CAUSES_MAX: Final = 8
"""Maximum number of causes to follow. A chain can be circular."""

UNAVAILABLE_STATUSES: Final = frozenset({401, 402, 403, 408, 429})
"""HTTP statuses by which a provider refuses a call for reasons outside the agent."""

STOPPED: Final = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, SystemExit)
"""Errors of a stopped run."""

ABORTED: Final = re.compile("Abort|Cancell?ed")
"""Names of errors of a stopped run."""

NETWORK: Final = re.compile("Connection|Timeout|Network")
"""Names of errors of a network, such as ``APIConnectionError``."""


def outcome_of(error: BaseException) -> Literal["failed", "aborted", "unavailable"]:
    """Outcome of a turn that ended with an error.

    ``aborted``: the run was cancelled. ``unavailable``: a provider answered 401, 402, 403, 408, 429
    or 5xx, or the network failed. Otherwise ``failed``.
    """
    current: BaseException | None = error
    for _ in range(CAUSES_MAX):
        if current is None:
            break
        name = type(current).__name__
        if isinstance(current, STOPPED) or ABORTED.search(name):
            return "aborted"
        if _is_unavailable(current) or NETWORK.search(name):
            return "unavailable"
        current = current.__cause__
    return "failed"


def _is_unavailable(error: BaseException) -> bool:
    """Whether a provider or the network failed."""
    if isinstance(error, (ConnectionError, TimeoutError, httpx.TransportError)):
        return True
    status: Any = getattr(error, "status_code", None)
    return isinstance(status, int) and (status >= 500 or status in UNAVAILABLE_STATUSES)
