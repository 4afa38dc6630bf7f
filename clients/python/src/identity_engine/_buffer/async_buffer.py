"""``AsyncObservationBuffer``: batches observations of many instances on an event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from identity_engine._async.client import AsyncIdentityEngine
from identity_engine._buffer.batch import UnacknowledgedBatch
from identity_engine._buffer.core import BufferCore
from identity_engine._buffer.options import Acknowledged, BufferClosed, BufferOptions, Rejected
from identity_engine._core.async_io import present_place
from identity_engine._core.process import Place, inherited, process
from identity_engine.errors import ConfigurationError
from identity_engine.models import BatchProcessed, Observation
from identity_engine.results import Observed


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class AsyncObservationBuffer:
    """Sends observations of many instances in batches, each instance's in the order of ``add``.

    Every observation gets a timestamp: its own, or the time of ``add``; where it would be less than
    1.000 s behind the one before, it is moved to 1.000 s behind it, so that none is throttled. What
    is more than 240 s ahead of now waits. What came to an unknown end is sent again with the same
    key, so that it counts once. Needs asyncio.

    In a forked process, the buffer begins empty; the parent sends what it took.

    Args:
        client: Sends the batches.
        batch_max: Observations of one batch, 1 to 100.
        delay_max_s: How long an observation waits for others of its instance, in seconds.
        pending_max: How many observations wait at most; ``add`` waits for room.
        instances_at_once: Of how many instances batches are under way at most.
        on_rejected: Called for each observation that the service refused.
        on_acknowledged: Called for each batch that was applied.

    Raises:
        ConfigurationError: A bound is out of its range.
    """

    def __init__(
        self,
        client: AsyncIdentityEngine,
        *,
        batch_max: int = 100,
        delay_max_s: float = 0.05,
        pending_max: int = 10_000,
        instances_at_once: int = 64,
        on_rejected: Callable[[Rejected], None] | None = None,
        on_acknowledged: Callable[[Acknowledged], None] | None = None,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        async def send(
            instance_id: str, observations: Sequence[dict[str, Any]], key: str
        ) -> Observed[BatchProcessed]:
            handle = client.instance(instance_id)
            return await handle.process_batch(observations, idempotency_key=key)

        options = BufferOptions(
            batch_max, delay_max_s, pending_max, instances_at_once, on_rejected, on_acknowledged
        )

        def make() -> BufferCore:
            return BufferCore(send, options, clock_ms)

        self._make = make
        self._process = process()
        self._place: Place | None = None
        self._held = self._make()

    async def add(self, instance_id: str, observation: Observation | Mapping[str, Any]) -> None:
        """Takes an observation; waits while ``pending_max`` others wait.

        Raises:
            ValueError: It is no JSON, or its timestamp no time with an offset.
            UnauthorizedError, ForbiddenError: The buffer has stopped; ``close`` hands everything
            back.
            BufferClosedError: The buffer is closed.
        """
        await self._present().add(instance_id, observation)

    async def flush(self) -> None:
        """Waits until everything that was added is acknowledged or rejected.

        Raises what has stopped the buffer.
        """
        await self._present().flush()

    def restore(self, batches: Sequence[UnacknowledgedBatch]) -> list[UnacknowledgedBatch]:
        """Sends what another buffer handed back, with its keys, before all that is added later.

        Call it before ``add``. Gives back what may have been applied and was sent more than 23 h
        ago, whose keys the service may have forgotten; that is not sent.

        Raises:
            BufferClosedError: The buffer is closed.
        """
        return self._present().restore(batches)

    async def close(self, *, timeout_s: float = 30.0) -> BufferClosed:
        """Sends what waits, for at most ``timeout_s`` seconds, and says what became of
        everything. It says the same however often it is called, also after one that was cancelled.
        """
        return await self._present().close(timeout_s)

    @property
    def pending(self) -> int:
        """How many observations are neither acknowledged nor rejected."""
        return self._of_process().ledger.pending

    @property
    def error(self) -> BaseException | None:
        """What has stopped the buffer, such as ``UnauthorizedError``; None while it sends."""
        return self._of_process().error

    def _of_process(self) -> BufferCore:
        """The core of this process: a forked child has none of the tasks of its parent."""
        if self._process != process() and not self._held.is_closed:
            inherited.append(self._held)
            self._process = process()
            self._place = None
            self._held = self._make()
        return self._held

    def _present(self) -> BufferCore:
        core = self._of_process()
        if core.is_closed:
            return core
        place = present_place()
        if place.is_loop_inherited:
            raise ConfigurationError(
                "this event loop was made before the process was forked: run a new one"
            )
        if self._place is not None and self._place is not place:
            raise ConfigurationError(
                "the buffer belongs to another event loop: make one in each event loop"
            )
        self._place = place
        return core
