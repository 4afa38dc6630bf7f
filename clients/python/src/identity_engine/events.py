"""Events of an instance's stream, and items of ``client.events.follow``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from identity_engine.models import (
    AccountEvent,
    CycleEventData,
    DeletedEventData,
    GapEventData,
    ResetEventData,
    StateEventData,
)


@dataclass(frozen=True, slots=True)
class StateEvent:
    """State of the instance. Sent first, and after the newest cycle, rename or reset."""

    data: StateEventData
    """Snapshot, contract and drift, as in the answer to an observation."""
    type: Literal["state"] = "state"


@dataclass(frozen=True, slots=True)
class CycleEvent:
    """An observation that was processed and is durable."""

    id: int
    """Ordinal of the observation since the instance was created, from 1."""
    data: CycleEventData
    """The observation and its drift event."""
    type: Literal["cycle"] = "cycle"


@dataclass(frozen=True, slots=True)
class ResetEvent:
    """The instance was reset. May be repeated after a reconnect."""

    data: ResetEventData
    """The new generation."""
    type: Literal["reset"] = "reset"


@dataclass(frozen=True, slots=True)
class GapEvent:
    """Requested cycles that are no longer stored."""

    data: GapEventData
    """First and last missing ordinal."""
    type: Literal["gap"] = "gap"


@dataclass(frozen=True, slots=True)
class DeletedEvent:
    """The instance was deleted. The stream ends."""

    data: DeletedEventData
    """Empty."""
    type: Literal["deleted"] = "deleted"


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event of a type that this version does not know."""

    name: str
    """Event name in the stream."""
    data: Any
    """Parsed JSON data, or the text if it is not JSON."""
    id: str | None
    """Event id, as received."""
    type: Literal["unknown"] = "unknown"


Event = StateEvent | CycleEvent | ResetEvent | GapEvent | DeletedEvent | UnknownEvent
"""Any event; ``type`` distinguishes the classes."""


@dataclass(frozen=True, slots=True)
class FollowedEvent:
    """An event of the account."""

    event: AccountEvent
    """The event. A repeated event has the same ``id``."""
    cursor: str
    """Store this cursor after you have handled the event, to resume after the event."""
    type: Literal["event"] = "event"


@dataclass(frozen=True, slots=True)
class FollowedGap:
    """Events are missing before the next event.

    The events are no longer kept, or the service was restored from a backup. Read the instances
    that matter again.
    """

    cursor: str
    """Cursor before the gap. A consumer that resumes there gets the gap again."""
    type: Literal["gap"] = "gap"


Followed = FollowedEvent | FollowedGap
"""An item of ``client.events.follow``; ``type`` distinguishes the classes."""
