"""Batches of observations, and the form in which a buffer returns batches to the caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict

from identity_engine._buffer.item import Item, item_as_sent
from identity_engine._core.uuid7 import uuid7


class UnacknowledgedBatch(BaseModel):
    """A batch that the service did not acknowledge, returned to the caller.

    ``ObservationBuffer.restore`` sends the batch again, even in another process.
    ``model_dump_json`` and ``model_validate_json`` preserve all fields.
    """

    model_config = ConfigDict(frozen=True)

    instance_id: str
    """Instance id."""
    idempotency_key: str
    """Idempotency key of every attempt."""
    observations: tuple[dict[str, Any], ...]
    """Observations with timestamps and idempotency keys."""
    may_have_happened: bool
    """Whether the batch may have been applied. A retry with the same key is not applied twice."""
    first_sent_at: AwareDatetime | None
    """Time of the first attempt, None if never sent. The service keeps the key for 24 h."""
    own_timestamps: tuple[bool, ...] | None = None
    """For each observation, whether the caller set its timestamp; None if the caller set all."""


@dataclass(slots=True)
class Batch:
    """One instance's observations under one key. Times are Unix milliseconds."""

    items: list[Item]
    observations: list[dict[str, Any]]
    first_ms: int
    last_ms: int
    key: str = field(default_factory=uuid7)
    may_have_happened: bool = False
    is_under_way: bool = False
    first_sent_ms: int | None = None
    failures: int = 0
    """Number of failed attempts of this batch, for the back-off."""

    def handed_back(self, instance_id: str) -> UnacknowledgedBatch:
        """Converts the batch to the form that callers receive."""
        sent = self.first_sent_ms
        return UnacknowledgedBatch(
            instance_id=instance_id,
            idempotency_key=self.key,
            observations=tuple(self.observations),
            may_have_happened=self.may_have_happened or self.is_under_way,
            first_sent_at=None
            if sent is None
            else datetime.fromtimestamp(sent / 1_000, timezone.utc),
            own_timestamps=tuple(item.is_own_time for item in self.items),
        )


def batch_of(items: list[Item]) -> Batch:
    """Makes a batch of items, which must be in order and at least 1.000 s apart."""
    return Batch(items, [item.body for item in items], items[0].at_ms, items[-1].at_ms)


def restored(given: UnacknowledgedBatch) -> Batch:
    """Converts a returned batch back, with unchanged keys and observations."""
    own = given.own_timestamps
    items = [
        item_as_sent(each, is_own_time=own is None or own[n], added_ms=0)
        for n, each in enumerate(given.observations)
    ]
    batch = batch_of(items)
    batch.key = given.idempotency_key
    batch.may_have_happened = given.may_have_happened
    sent = given.first_sent_at
    batch.first_sent_ms = None if sent is None else round(sent.timestamp() * 1_000)
    return batch
