"""``ObservationBuffer``: the same buffer for programs without an event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from identity_engine._buffer.async_buffer import SPOOL_OF_PARENT, instance_id_of, now_ms
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
from identity_engine._core.dictionaries import BatchObservationInput
from identity_engine._core.process import Lock, inherited, process
from identity_engine._sync.client import IdentityEngine
from identity_engine._sync.instance import InstanceHandle
from identity_engine.errors import BufferClosedError, ConfigurationError
from identity_engine.models import BatchProcessed, ProcessedFleet
from identity_engine.results import Observed, Result

T = TypeVar("T")

WAKE_S_MAX = 1.0
"""Maximum time for tasks to end before the loop stops, in seconds. Most end immediately."""


class ObservationBuffer:
    """Sends observations for many instances in batches, and keeps each instance's order.

    Runs on its own thread, with further threads for batches in flight. Thread-safe. Hooks run on
    the buffer's thread and must not call the buffer. Close the buffer before the process ends.

    The buffer never changes a timestamp that the caller set. If the service throttles such an
    observation, the buffer reports the observation and does not send it again. An observation
    without a timestamp gets the time of ``add``, at least 1.000 s after the previous observation.
    Observations more than 240 s ahead of the clock wait.

    Every observation has an ``idempotency_key``: the caller's key or a new key. The service applies
    each key once. With a spool, ``add`` returns when the observation is on disk, and the next
    process continues. Without a spool, a killed process loses its pending observations.

    In a forked process, the buffer is empty; a buffer with a spool raises an error. The parent
    sends the observations that were added before the fork.

    Args:
        client: Sends the batches.
        batch_max: Maximum observations per batch, 1 to 100.
        delay_max_s: Maximum wait for more observations per instance, in seconds.
        pending_max: Maximum pending observations; if full, ``add`` waits.
        instances_at_once: Maximum instances with a batch in flight, each on a thread.
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
        client: IdentityEngine,
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
        self._closed: BufferClosed | None = None
        self._close_lock = Lock()
        self._lock = Lock()

        def start() -> BufferThread:
            return BufferThread(client, options, clock_ms, fleet_calls)

        self._has_spool = options.spool is not None
        self._start = start
        self._thread = start()

    def add(self, instance_id: str | InstanceHandle, observation: BatchObservationInput) -> None:
        """Adds an observation; waits while the buffer is full.

        Args:
            instance_id: Id or handle of the instance. A handle also updates its guards with the
                contract of the answer.
            observation: The observation. Without ``timestamp`` and ``idempotency_key``, the buffer
                sets both.

        Raises:
            ValueError: JSON cannot represent the observation, or the timestamp has no offset.
            UnauthorizedError, ForbiddenError: The buffer has stopped; ``close`` returns everything.
            BufferClosedError: The buffer is closed.
        """
        thread = self._present()
        thread.run(thread.core.add(instance_id_of(instance_id, thread.handles), observation))

    def flush(self) -> None:
        """Waits until all added observations are acknowledged or rejected.

        Raises the error that stopped the buffer.
        """
        thread = self._present()
        thread.run(thread.core.flush())

    def restore(self, batches: Sequence[UnacknowledgedBatch]) -> list[UnacknowledgedBatch]:
        """Sends batches that another buffer returned, with their keys, before later observations.

        Call ``restore`` before ``add``. Returns the batches that are too old to send: their first
        attempt is more than 23 h ago and may have been applied, and the service may have forgotten
        their keys.

        Raises:
            BufferClosedError: The buffer is closed.
        """

        thread = self._present()

        async def restore() -> list[UnacknowledgedBatch]:
            return thread.core.restore(batches)

        return thread.run(restore())

    def close(self, *, timeout_s: float = 30.0) -> BufferClosed:
        """Sends pending observations for up to ``timeout_s`` seconds, and returns all outcomes.

        Repeated calls return the same result, even after an interrupted call.
        """
        thread = self._present()
        with self._close_lock:
            if self._closed is None:
                self._closed = thread.run(thread.core.close(timeout_s))
            thread.end()
            return self._closed

    @property
    def pending(self) -> int:
        """Observations neither acknowledged nor rejected."""
        return self._present().core.ledger.pending

    @property
    def error(self) -> BaseException | None:
        """Error that stopped the buffer, such as ``UnauthorizedError``; None while running."""
        return self._present().core.error

    def _present(self) -> BufferThread:
        """Thread of this process. A forked child needs a new thread: threads of the parent do not
        run in the child.
        """
        thread = self._thread
        if thread.process == process() or self._closed is not None:
            return thread
        if self._has_spool:
            raise ConfigurationError(SPOOL_OF_PARENT)
        with self._lock:
            if self._thread.process != process():
                inherited.append(self._thread)
                self._thread = self._start()
            return self._thread


class BufferThread:
    """Event loop of a buffer on its own thread, in one process."""

    def __init__(
        self,
        client: IdentityEngine,
        options: BufferOptions,
        clock_ms: Callable[[], int],
        fleet_calls: bool,
    ) -> None:
        self.process = process()
        self.handles = weakref.WeakValueDictionary[str, InstanceHandle]()
        """Handles of the caller, through which the batches of their instances are sent."""
        self._loop = asyncio.new_event_loop()
        self._senders = ThreadPoolExecutor(options.instances_at_once, "identity-engine-sender")
        self._gate = Lock()
        self._is_stopped = False

        def send_now(
            instance_id: str, observations: Sequence[dict[str, Any]], key: str
        ) -> Observed[BatchProcessed]:
            handle = self.handles.get(instance_id) or client.instance(instance_id)
            return handle.process_batch(observations, idempotency_key=key)

        async def send(
            instance_id: str, observations: Sequence[dict[str, Any]], key: str
        ) -> Observed[BatchProcessed]:
            running = asyncio.get_running_loop()
            return await running.run_in_executor(
                self._senders, send_now, instance_id, observations, key
            )

        def send_fleet_now(observations: Sequence[dict[str, Any]]) -> Result[ProcessedFleet]:
            # The buffer itself repeats failed batches: a slow engine must not delay the others.
            return client.process(observations, include_state=True, attempts_max=1)

        async def send_fleet(
            observations: Sequence[dict[str, Any]],
        ) -> Result[ProcessedFleet]:
            running = asyncio.get_running_loop()
            return await running.run_in_executor(self._senders, send_fleet_now, observations)

        def saw(instance_id: str, state: BatchProcessed, began_s: float) -> None:
            handle = self.handles.get(instance_id)
            if handle is not None:
                handle._saw_state(state, began_s)

        async def make() -> BufferCore:
            join_s = options.delay_max_s * JOIN_SHARE
            sender = BatchSender(send, send_fleet, saw, join_s=join_s, is_shared=fleet_calls)
            core = BufferCore(sender.send, options, clock_ms)
            core.start()
            return core

        self._thread = threading.Thread(
            target=self._loop.run_forever, name="identity-engine-buffer", daemon=True
        )
        self._thread.start()
        self.core = self.run(make())

    def end(self) -> None:
        """Ends the threads. A caller that was interrupted can call this method again."""
        with self._gate:
            if not self._is_stopped:
                self._is_stopped = True
                asyncio.run_coroutine_threadsafe(_stop_loop(), self._loop)
        self._thread.join()
        self._loop.close()
        self._senders.shutdown(wait=False, cancel_futures=True)

    def run(self, task: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the buffer's thread and returns its result."""
        if threading.current_thread() is self._thread:
            task.close()
            raise RuntimeError("a hook must not call its buffer: the call would deadlock")
        with self._gate:
            # A loop that has stopped would never run the task.
            if self._is_stopped:
                task.close()
                raise BufferClosedError("the buffer is closed")
            outcome = asyncio.run_coroutine_threadsafe(task, self._loop)
        try:
            return outcome.result()
        except concurrent.futures.CancelledError:
            raise BufferClosedError("the buffer is closed") from None


async def _stop_loop() -> None:
    """Stops the loop after all other tasks have ended; cancels tasks that do not end."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if others:
        _, left = await asyncio.wait(others, timeout=WAKE_S_MAX)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    # A task that has just ended delivers its result in the next turn of the loop.
    await asyncio.sleep(0)
    asyncio.get_running_loop().stop()
