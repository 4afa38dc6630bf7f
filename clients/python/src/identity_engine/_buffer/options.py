"""How a buffer is set up, and what it hands back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from identity_engine._buffer.batch import UnacknowledgedBatch
from identity_engine._buffer.spool import SpoolStore
from identity_engine.errors import ConfigurationError, IdentityEngineError
from identity_engine.models import BatchProcessed
from identity_engine.results import Observed

logger = logging.getLogger("identity_engine")


@dataclass(frozen=True, slots=True)
class Rejected:
    """An observation that the service refused; it was not applied."""

    instance_id: str
    """Whose observation it is."""
    observation: dict[str, Any]
    """The observation as it was sent."""
    error: IdentityEngineError
    """Why."""


@dataclass(frozen=True, slots=True)
class ThrottledObservation:
    """An observation that the service throttled: its own timestamp is less than 1.000 s behind the
    newest one of the instance, or before it. It was not applied and is not sent again.
    """

    instance_id: str
    """Whose observation it is."""
    observation: dict[str, Any]
    """The observation as it was sent."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Observations that were applied, as one batch."""

    instance_id: str
    """Whose observations they are."""
    observations: Sequence[dict[str, Any]]
    """The observations as they were sent, with their timestamps."""
    result: Observed[BatchProcessed]
    """The answer: state, contract and drift after the last one."""
    replayed: int = 0
    """How many of the observations were applied before under the same key, not by this batch."""


@dataclass(frozen=True, slots=True)
class BufferClosed:
    """Outcome of all observations that were added or restored."""

    acknowledged: int
    """How many observations were applied."""
    rejected: Sequence[Rejected]
    """Observations that were refused; the last 10,000 of them."""
    throttled: Sequence[ThrottledObservation]
    """Observations that were throttled with their own timestamps; the last 10,000 of them."""
    unacknowledged: Sequence[UnacknowledgedBatch]
    """Exactly what was neither applied for sure nor refused, in the order of each instance."""


@dataclass(frozen=True, slots=True)
class BufferOptions:
    """Bounds of a buffer."""

    batch_max: int
    delay_max_s: float
    pending_max: int
    instances_at_once: int
    on_rejected: Callable[[Rejected], None] | None
    on_acknowledged: Callable[[Acknowledged], None] | None
    on_throttled: Callable[[ThrottledObservation], None] | None
    spool: SpoolStore | None

    def __post_init__(self) -> None:
        if not 1 <= self.batch_max <= 100:
            raise ConfigurationError(f"batch_max must be from 1 to 100, not {self.batch_max}")
        if not 0 <= self.delay_max_s <= 3_600:
            raise ConfigurationError(f"delay_max_s must be from 0 to 3600, not {self.delay_max_s}")
        if self.pending_max < 1 or self.instances_at_once < 1:
            raise ConfigurationError("pending_max and instances_at_once must be at least 1")

    def report(self, news: Rejected | Acknowledged | ThrottledObservation) -> None:
        """Calls the hook for it. What a hook raises is logged."""
        try:
            if isinstance(news, Rejected):
                if self.on_rejected is not None:
                    self.on_rejected(news)
            elif isinstance(news, ThrottledObservation):
                if self.on_throttled is not None:
                    self.on_throttled(news)
            elif self.on_acknowledged is not None:
                self.on_acknowledged(news)
        except Exception:
            logger.exception("a hook of an observation buffer raised an error")
