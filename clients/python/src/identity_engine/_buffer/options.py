"""Options and results of a buffer."""

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
    """An observation that the service refused and did not apply."""

    instance_id: str
    """Instance id."""
    observation: dict[str, Any]
    """The sent observation."""
    error: IdentityEngineError
    """The refusal, with its reason."""


@dataclass(frozen=True, slots=True)
class ThrottledObservation:
    """An observation that the service throttled and that the buffer does not send again.

    The caller set the timestamp, less than 1.000 s after the newest observation of the instance.
    """

    instance_id: str
    """Instance id."""
    observation: dict[str, Any]
    """The sent observation."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Observations that were applied, as one batch."""

    instance_id: str
    """Instance id."""
    observations: Sequence[dict[str, Any]]
    """The sent observations, with timestamps."""
    result: Observed[BatchProcessed]
    """State, contract and drift after the last observation."""
    replayed: int = 0
    """Number of observations that an earlier call applied under the same key."""


@dataclass(frozen=True, slots=True)
class BufferClosed:
    """Outcomes of all observations that were added or restored."""

    acknowledged: int
    """Applied observations."""
    rejected: Sequence[Rejected]
    """Refused observations; the last 10,000."""
    throttled: Sequence[ThrottledObservation]
    """Observations that were throttled at the caller's timestamp; the last 10,000."""
    unacknowledged: Sequence[UnacknowledgedBatch]
    """All other observations, in order per instance."""


@dataclass(frozen=True, slots=True)
class BufferOptions:
    """Bounds, hooks and spool of a buffer."""

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
        """Calls the hook for an outcome. Exceptions of the hook are logged."""
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
