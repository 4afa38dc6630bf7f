"""Observations that are sent as one unit, and what is handed back of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict

from identity_engine._buffer.item import Item, item_of, time_ms
from identity_engine._core.uuid7 import uuid7


class UnacknowledgedBatch(BaseModel):
    """Observations of one instance that a buffer hands back: as they were or would have been sent.

    ``ObservationBuffer.restore`` sends them again, also in another process:
    ``model_dump_json`` and ``model_validate_json`` keep all of it.
    """

    model_config = ConfigDict(frozen=True)

    instance_id: str
    """Whose observations they are."""
    idempotency_key: str
    """The key that they were sent with, and must be sent with again."""
    observations: tuple[dict[str, Any], ...]
    """The observations, each with its timestamp."""
    may_have_happened: bool
    """Whether they may have been applied; with the same key they are never applied twice."""
    first_sent_at: AwareDatetime | None
    """When they were first sent; None: never. The service knows their key for 24 h from then on."""


@dataclass(slots=True)
class Batch:
    """Observations of one instance under one key. Times are milliseconds since 1970."""

    items: list[Item]
    observations: list[dict[str, Any]]
    first_ms: int
    last_ms: int
    key: str = field(default_factory=uuid7)
    may_have_happened: bool = False
    is_under_way: bool = False
    first_sent_ms: int | None = None
    failures: int = 0
    """Attempts in a row whose outcome was no answer about the observations."""

    def handed_back(self, instance_id: str) -> UnacknowledgedBatch:
        """The batch as the caller of the buffer gets it."""
        sent = self.first_sent_ms
        return UnacknowledgedBatch(
            instance_id=instance_id,
            idempotency_key=self.key,
            observations=tuple(self.observations),
            may_have_happened=self.may_have_happened or self.is_under_way,
            first_sent_at=None
            if sent is None
            else datetime.fromtimestamp(sent / 1_000, timezone.utc),
        )


def restored(given: UnacknowledgedBatch) -> Batch:
    """A batch that was handed back, with its key and its observations as they were."""
    times = [time_ms(each["timestamp"]) for each in given.observations]
    items = [item_of(each, at) for each, at in zip(given.observations, times, strict=True)]
    observations = [item.at(at) for item, at in zip(items, times, strict=True)]
    sent = given.first_sent_at
    return Batch(
        items=items,
        observations=observations,
        first_ms=time_ms(observations[0]["timestamp"]),
        last_ms=time_ms(observations[-1]["timestamp"]),
        key=given.idempotency_key,
        may_have_happened=given.may_have_happened,
        first_sent_ms=None if sent is None else round(sent.timestamp() * 1_000),
    )
