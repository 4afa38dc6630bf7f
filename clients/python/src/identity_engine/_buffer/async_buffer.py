"""``AsyncObservationBuffer``: batches observations of many instances on an event loop."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from identity_engine._async.client import AsyncIdentityEngine
from identity_engine._buffer.batch import UnacknowledgedBatch
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
from identity_engine._core.process import Place, inherited, process
from identity_engine.errors import ConfigurationError
from identity_engine.models import BatchProcessed, Observation
from identity_engine.results import Observed


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


SPOOL_OF_PARENT = (
    "the spool belongs to the parent process: create a buffer with another spool in this process"
)
"""Text of the error in a forked process."""


class AsyncObservationBuffer:
    """Sends observations of many instances in batches, each instance's in the order of ``add``.

    A timestamp of the caller is never changed: an observation that the service throttles with it is
    reported. An observation without one gets the time of ``add``, or 1.000 s after the one before.
    What is more than 240 s ahead of now waits.

    Every observation has an ``idempotency_key``, its own or a new one, with which it counts once,
    in whichever batch it is sent. With a spool, ``add`` returns when the observation is on the
    disk, and the next process continues. Without one, what waits is lost with the process.
    In a forked process, the buffer begins empty, and one with a spool raises an error; the parent
    sends what it took. Needs asyncio, and belongs to one event loop.

    Args:
        client: Sends the batches.
        batch_max: Observations of one batch, 1 to 100.
        delay_max_s: How long an observation waits for others of its instance, in seconds.
        pending_max: How many observations wait at most; ``add`` waits for room.
        instances_at_once: Of how many instances batches are under way at most.
        on_rejected: Called for each observation that the service refused.
        on_acknowledged: Called for each batch that was applied.
        on_throttled: Called for each observation whose own timestamp the service throttled.
        spool: A file, or a store of one's own, for what is not settled yet. One buffer uses it at a
            time; ``close`` closes it.

    Raises:
        ConfigurationError: A bound is out of its range.
        SpoolError: The spool cannot be opened or read, or another process has it.
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
        spool: SpoolStore | str | os.PathLike[str] | None = None,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        async def send(
            instance_id: str, observations: Sequence[dict[str, Any]], key: str
        ) -> Observed[BatchProcessed]:
            handle = client.instance(instance_id)
            return await handle.process_batch(observations, idempotency_key=key)

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
            return BufferCore(send, options, clock_ms)

        self._make = make
        self._process = process()
        self._place: Place | None = None
        self._has_spool = options.spool is not None
        self._held = self._make()
        if self._has_spool and _is_loop_running():
            self._present()

    async def add(self, instance_id: str, observation: Observation | Mapping[str, Any]) -> None:
        """Takes an observation; waits while ``pending_max`` others wait.

        Raises:
            ValueError: It is no JSON, or its timestamp no time with an offset.
            UnauthorizedError, ForbiddenError: The buffer has stopped; ``close`` hands everything
            back.
            SpoolError: The spool cannot be written.
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


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
