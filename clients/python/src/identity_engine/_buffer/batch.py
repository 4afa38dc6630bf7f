"""Observations that are sent as one unit, and what is handed back of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict

from identity_engine._buffer.item import Item, item_as_sent
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
    """The observations, each with its timestamp and its idempotency key."""
    may_have_happened: bool
    """Whether they may have been applied; with the same key they are never applied twice."""
    first_sent_at: AwareDatetime | None
    """When they were first sent; None: never. The service knows their key for 24 h from then on."""
    own_timestamps: tuple[bool, ...] | None = None
    """Which timestamps are the caller's own, and never changed; None: all of them."""


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
            own_timestamps=tuple(item.is_own_time for item in self.items),
        )


def batch_of(items: list[Item]) -> Batch:
    """A batch of items that may stand in one: in order, at least 1.000 s apart."""
    return Batch(items, [item.body for item in items], items[0].at_ms, items[-1].at_ms)


def restored(given: UnacknowledgedBatch) -> Batch:
    """A batch that was handed back, with its keys and its observations as they were."""
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
