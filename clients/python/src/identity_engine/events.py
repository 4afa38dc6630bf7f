"""The events of an instance, as its stream brings them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from identity_engine.models import (
    CycleEventData,
    DeletedEventData,
    GapEventData,
    ResetEventData,
    StateEventData,
)


@dataclass(frozen=True, slots=True)
class StateEvent:
    """The state. Sent first, and after the newest cycle, rename or reset."""

    data: StateEventData
    """Snapshot, contract and drift, as an observation is answered."""
    type: Literal["state"] = "state"


@dataclass(frozen=True, slots=True)
class CycleEvent:
    """A processed observation, once it is durable."""

    id: int
    """Ordinal of the observation in the whole life of the instance, from 1."""
    data: CycleEventData
    """The observation, and the drift event that it brought."""
    type: Literal["cycle"] = "cycle"


@dataclass(frozen=True, slots=True)
class ResetEvent:
    """The instance was reset. After a reconnect this may come once more."""

    data: ResetEventData
    """The generation that begins."""
    type: Literal["reset"] = "reset"


@dataclass(frozen=True, slots=True)
class GapEvent:
    """Requested cycles that are no longer stored."""

    data: GapEventData
    """The first and the last ordinal that is missing."""
    type: Literal["gap"] = "gap"


@dataclass(frozen=True, slots=True)
class DeletedEvent:
    """The instance was deleted. The stream ends."""

    data: DeletedEventData
    """Nothing so far."""
    type: Literal["deleted"] = "deleted"


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event of a kind that this version does not know."""

    name: str
    """The name of the event on the wire."""
    data: Any
    """Its data as JSON, or as text where it is none."""
    id: str | None
    """Its id, as it came."""
    type: Literal["unknown"] = "unknown"


Event = StateEvent | CycleEvent | ResetEvent | GapEvent | DeletedEvent | UnknownEvent
"""An event; ``type`` says which."""
