"""Classification of the error that ended a turn.

Frameworks wrap the errors of providers, so the classification follows the chain of causes. Errors
are also compared by name, because the client depends on no provider's package.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import httpx

CAUSES_MAX: Final = 8
"""Maximum number of causes to follow. A chain can be circular."""

UNAVAILABLE_STATUSES: Final = frozenset({401, 402, 403, 408, 429})
"""HTTP statuses by which a provider refuses a call for reasons outside the agent."""

STOPPED: Final = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, SystemExit)
"""Errors of a stopped run."""

ABORTED: Final = re.compile("AbortError|APIUserAbortError|ModelAbortError|Cancell?edError")
"""Whole names of errors of a stopped run."""

NETWORK: Final = re.compile(
    "(API)?(Connection|Network|(Connect(ion)?|Read|Write|Pool)?Timeout)Error"
)
"""Whole names of errors of a network, such as ``APIConnectionError`` and ``ReadTimeoutError``."""


def outcome_of(error: BaseException) -> Literal["failed", "aborted", "unavailable"]:
    """Outcome of a turn that ended with an error.

    ``aborted``: the run was cancelled. ``unavailable``: a provider answered 401, 402, 403, 408, 429
    or 5xx, or the network failed. Otherwise ``failed``. In a group, the last error counts.
    """
    current: BaseException | None = error
    for _ in range(CAUSES_MAX):
        if current is None:
            break
        name = type(current).__name__
        if isinstance(current, STOPPED) or ABORTED.fullmatch(name):
            return "aborted"
        if _is_unavailable(current) or NETWORK.fullmatch(name):
            return "unavailable"
        current = current.__cause__ or _last_of_group(current)
    return "failed"


def _is_unavailable(error: BaseException) -> bool:
    """Whether a provider or the network failed."""
    if isinstance(error, (ConnectionError, TimeoutError, httpx.TransportError)):
        return True
    status = next((each for each in _statuses(error) if isinstance(each, int)), 0)
    return 500 <= status < 600 or status in UNAVAILABLE_STATUSES


def _statuses(error: BaseException) -> Iterator[object]:
    """Yields what can be the HTTP status of a provider's answer."""
    response: Any = getattr(error, "response", None)
    yield getattr(error, "status_code", None)
    yield getattr(response, "status_code", None)
    if isinstance(response, Mapping):  # botocore
        metadata = response.get("ResponseMetadata")
        yield metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None
    yield getattr(error, "code", None)


def _last_of_group(error: BaseException) -> BaseException | None:
    """Last error of an ``ExceptionGroup``, which Python has since 3.11."""
    errors: Any = getattr(error, "exceptions", None)
    last = errors[-1] if isinstance(errors, (tuple, list)) and errors else None
    return last if isinstance(last, BaseException) else None
