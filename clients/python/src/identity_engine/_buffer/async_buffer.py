"""``AsyncObservationBuffer``: batches observations of many instances on an event loop."""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from identity_engine._async.client import AsyncIdentityEngine
from identity_engine._async.instance import AsyncInstanceHandle
from identity_engine._buffer.batch import UnacknowledgedBatch
from identity_engine._buffer.batch_sender import JOIN_SHARE, BatchSender
from identity_engine._buffer.core import BufferCore
from identity_engine._buffer.options import (
    Acknowledged,
    BufferClosed,
    BufferOptions,
    Rejected,
    ThrottledObservation,
)
from identity_engine._buffer.spool import FileSpool, SpoolStore
from identity_engine._core.async_io import present_place
from identity_engine._core.dictionaries import BatchObservationInput
from identity_engine._core.process import Place, inherited, process
from identity_engine._sync.instance import InstanceHandle
from identity_engine.errors import ConfigurationError
from identity_engine.models import BatchProcessed, ProcessedFleet
from identity_engine.results import Observed, Result


def now_ms() -> int:
    """Current time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


Handle = TypeVar("Handle", AsyncInstanceHandle, InstanceHandle)

SPOOL_OF_PARENT = (
    "the spool belongs to the parent process: create a buffer with another spool in this process"
)
"""Error text for a forked process."""


class AsyncObservationBuffer:
    """Sends observations for many instances in batches, and keeps each instance's order.

    The buffer never changes a timestamp that the caller set. If the service throttles such an
    observation, the buffer reports the observation and does not send it again. An observation
    without a timestamp gets the time of ``add``, at least 1.000 s after the previous observation.
    Observations more than 240 s ahead of the clock wait.

    Every observation has an ``idempotency_key``: the caller's key or a new key. The service applies
    each key once. With a spool, ``add`` returns when the observation is on disk, and the next
    process continues. Without a spool, a killed process loses its pending observations.

    In a forked process, the buffer is empty; a buffer with a spool raises an error. The parent
    sends the observations that were added before the fork. Needs asyncio, and belongs to one event
    loop.

    Args:
        client: Sends the batches.
        batch_max: Maximum observations per batch, 1 to 100.
        delay_max_s: Maximum wait for more observations per instance, in seconds.
        pending_max: Maximum pending observations; if full, ``add`` waits.
        instances_at_once: Maximum instances with a batch in flight.
        on_rejected: Called for each refused observation.
        on_acknowledged: Called for each applied batch.
        on_throttled: Called for each observation that was throttled at the caller's timestamp.
        fleet_calls: Whether batches of at most 4 observations of several instances may share a
            fleet call, which costs fewer requests.
        spool: File or store for unfinished observations. One buffer uses a spool at a time;
            ``close`` closes the spool.

    Raises:
        ConfigurationError: A bound is out of range.
        SpoolError: The spool cannot be opened or read, or another process uses it.
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
        on_throttled: Callable[[ThrottledObservation], None] | None = None,
        fleet_calls: bool = True,
        spool: SpoolStore | str | os.PathLike[str] | None = None,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        # Handles of the caller, through which the batches of their instances are sent.
        self._handles = weakref.WeakValueDictionary[str, AsyncInstanceHandle]()

        async def send(
            instance_id: str, observations: Sequence[dict[str, Any]], key: str
        ) -> Observed[BatchProcessed]:
            handle = self._handles.get(instance_id) or client.instance(instance_id)
            return await handle.process_batch(observations, idempotency_key=key)

        async def send_fleet(
            observations: Sequence[dict[str, Any]],
        ) -> Result[ProcessedFleet]:
            # The buffer itself repeats failed batches: a slow engine must not delay the others.
            return await client.process(observations, include_state=True, attempts_max=1)

        def saw(instance_id: str, state: BatchProcessed, began_s: float) -> None:
            handle = self._handles.get(instance_id)
            if handle is not None:
                handle._saw_state(state, began_s)

        options = BufferOptions(
            batch_max,
            delay_max_s,
            pending_max,
            instances_at_once,
            on_rejected,
            on_acknowledged,
            on_throttled,
            FileSpool(spool) if isinstance(spool, (str, os.PathLike)) else spool,
        )

        def make() -> BufferCore:
            sender = BatchSender(
                send, send_fleet, saw, join_s=delay_max_s * JOIN_SHARE, is_shared=fleet_calls
            )
            return BufferCore(sender.send, options, clock_ms)

        self._make = make
        self._process = process()
        self._place: Place | None = None
        self._has_spool = options.spool is not None
        self._held = self._make()
        if self._has_spool and _is_loop_running():
            self._present()

    async def add(
        self, instance_id: str | AsyncInstanceHandle, observation: BatchObservationInput
    ) -> None:
        """Adds an observation; waits while the buffer is full.

        Args:
            instance_id: Id or handle of the instance. A handle also updates its guards with the
                contract of the answer.
            observation: The observation. Without ``timestamp`` and ``idempotency_key``, the buffer
                sets both.

        Raises:
            ValueError: JSON cannot represent the observation, or the timestamp has no offset.
            UnauthorizedError, ForbiddenError: The buffer has stopped; ``close`` returns everything.
            SpoolError: The spool cannot be written.
            BufferClosedError: The buffer is closed.
        """
        core = self._present()
        await core.add(instance_id_of(instance_id, self._handles), observation)

    async def flush(self) -> None:
        """Waits until all added observations are acknowledged or rejected.

        Raises the error that stopped the buffer.
        """
        await self._present().flush()

    def restore(self, batches: Sequence[UnacknowledgedBatch]) -> list[UnacknowledgedBatch]:
        """Sends batches that another buffer returned, with their keys, before later observations.

        Call ``restore`` before ``add``. Returns the batches that are too old to send: their first
        attempt is more than 23 h ago and may have been applied, and the service may have forgotten
        their keys.

        Raises:
            BufferClosedError: The buffer is closed.
        """
        return self._present().restore(batches)

    async def close(self, *, timeout_s: float = 30.0) -> BufferClosed:
        """Sends pending observations for up to ``timeout_s`` seconds, and returns all outcomes.

        Repeated calls return the same result, even after a cancelled call.
        """
        return await self._present().close(timeout_s)

    @property
    def pending(self) -> int:
        """Observations neither acknowledged nor rejected."""
        return self._of_process().ledger.pending

    @property
    def error(self) -> BaseException | None:
        """Error that stopped the buffer, such as ``UnauthorizedError``; None while running."""
        return self._of_process().error

    def _of_process(self) -> BufferCore:
        """Core of this process. A forked child needs a new core: tasks of the parent do not run in
        the child.
        """
        if self._process != process() and not self._held.is_closed:
            if self._has_spool:
                raise ConfigurationError(SPOOL_OF_PARENT)
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
                "this event loop was created before the fork: run a new event loop"
            )
        if self._place is not None and self._place is not place:
            raise ConfigurationError(
                "the buffer belongs to another event loop: create one buffer per event loop"
            )
        self._place = place
        core.start()
        return core


def instance_id_of(
    instance: str | Handle, handles: weakref.WeakValueDictionary[str, Handle]
) -> str:
    """Id of an instance; a handle is noted in ``handles``."""
    if isinstance(instance, str):
        return instance
    handles[instance.id] = instance
    return instance.id


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
