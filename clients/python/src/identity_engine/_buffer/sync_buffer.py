"""``ObservationBuffer``: the same buffer for programs without an event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from identity_engine._buffer.async_buffer import SPOOL_OF_PARENT, now_ms
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
from identity_engine._core.process import Lock, inherited, process
from identity_engine._sync.client import IdentityEngine
from identity_engine.errors import BufferClosedError, ConfigurationError
from identity_engine.models import BatchProcessed, Observation
from identity_engine.results import Observed

T = TypeVar("T")

WAKE_S_MAX = 1.0
"""How long what was woken by closing has to end, in seconds; it takes no more than a moment."""


class ObservationBuffer:
    """Sends observations of many instances in batches, each instance's in the order of ``add``.

    Runs on a thread of its own, with further threads for batches that are under way; safe to use
    from several threads. Hooks are called on its thread, and cannot call the buffer. Close it: what
    waits is lost with the process. In a forked process, the buffer begins empty; the parent sends
    what it took.

    A timestamp of the caller is never changed: an observation that the service throttles with it is
    reported. An observation without one gets the time of ``add``, or 1.000 s after the one before.
    What is more than 240 s ahead of now waits.

    Every observation has an ``idempotency_key``, its own or a new one, with which it counts once,
    in whichever batch it is sent. With a spool, ``add`` returns when the observation is on the
    disk, and the next process continues. Without one, what waits is lost with the process.
    In a forked process, the buffer begins empty, and one with a spool raises an error; the parent
    sends what it took.

    Args:
        client: Sends the batches.
        batch_max: Observations of one batch, 1 to 100.
        delay_max_s: How long an observation waits for others of its instance, in seconds.
        pending_max: How many observations wait at most; ``add`` waits for room.
        instances_at_once: Of how many instances batches are under way at most, a thread each.
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
        client: IdentityEngine,
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
            return BufferThread(client, options, clock_ms)

        self._has_spool = options.spool is not None
        self._start = start
        self._thread = start()

    def add(self, instance_id: str, observation: Observation | Mapping[str, Any]) -> None:
        """Takes an observation; waits while ``pending_max`` others wait.

        Raises:
            ValueError: It is no JSON, or its timestamp no time with an offset.
            UnauthorizedError, ForbiddenError: The buffer has stopped; ``close`` hands everything
            back.
            BufferClosedError: The buffer is closed.
        """
        thread = self._present()
        thread.run(thread.core.add(instance_id, observation))

    def flush(self) -> None:
        """Waits until everything that was added is acknowledged or rejected.

        Raises what has stopped the buffer.
        """
        thread = self._present()
        thread.run(thread.core.flush())

    def restore(self, batches: Sequence[UnacknowledgedBatch]) -> list[UnacknowledgedBatch]:
        """Sends what another buffer handed back, with its keys, before all that is added later.

        Call it before ``add``. Gives back what may have been applied and was sent more than 23 h
        ago, whose keys the service may have forgotten; that is not sent.

        Raises:
            BufferClosedError: The buffer is closed.
        """

        thread = self._present()

        async def restore() -> list[UnacknowledgedBatch]:
            return thread.core.restore(batches)

        return thread.run(restore())

    def close(self, *, timeout_s: float = 30.0) -> BufferClosed:
        """Sends what waits, for at most ``timeout_s`` seconds, and says what became of everything.

        It says the same however often it is called, also after one that was interrupted.
        """
        thread = self._present()
        with self._close_lock:
            if self._closed is None:
                self._closed = thread.run(thread.core.close(timeout_s))
            thread.end()
            return self._closed

    @property
    def pending(self) -> int:
        """How many observations are neither acknowledged nor rejected."""
        return self._present().core.ledger.pending

    @property
    def error(self) -> BaseException | None:
        """What has stopped the buffer, such as ``UnauthorizedError``; None while it sends."""
        return self._present().core.error

    def _present(self) -> BufferThread:
        """The thread of this process: a forked child has none of the threads of its parent."""
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
    """The event loop of a buffer on a thread of its own, in one process."""

    def __init__(
        self, client: IdentityEngine, options: BufferOptions, clock_ms: Callable[[], int]
    ) -> None:
        self.process = process()
        self._loop = asyncio.new_event_loop()
        self._senders = ThreadPoolExecutor(options.instances_at_once, "identity-engine-sender")
        self._gate = Lock()
        self._is_stopped = False

        def send_now(
            instance_id: str, observations: Sequence[dict[str, Any]], key: str
        ) -> Observed[BatchProcessed]:
            handle = client.instance(instance_id)
            return handle.process_batch(observations, idempotency_key=key)

        async def send(
            instance_id: str, observations: Sequence[dict[str, Any]], key: str
        ) -> Observed[BatchProcessed]:
            running = asyncio.get_running_loop()
            return await running.run_in_executor(
                self._senders, send_now, instance_id, observations, key
            )

        async def make() -> BufferCore:
            core = BufferCore(send, options, clock_ms)
            core.start()
            return core

        self._thread = threading.Thread(
            target=self._loop.run_forever, name="identity-engine-buffer", daemon=True
        )
        self._thread.start()
        self.core = self.run(make())

    def end(self) -> None:
        """Ends the threads. May be interrupted, and called again."""
        with self._gate:
            if not self._is_stopped:
                self._is_stopped = True
                asyncio.run_coroutine_threadsafe(_stop_loop(), self._loop)
        self._thread.join()
        self._loop.close()
        self._senders.shutdown(wait=False, cancel_futures=True)

    def run(self, task: Coroutine[Any, Any, T]) -> T:
        """The outcome of a coroutine on the thread of the buffer."""
        if threading.current_thread() is self._thread:
            task.close()
            raise RuntimeError("a hook must not call its buffer: the call would deadlock")
        with self._gate:
            # Nothing is given to a loop that has stopped, or stops: it would never end.
            if self._is_stopped:
                task.close()
                raise BufferClosedError("the buffer is closed")
            outcome = asyncio.run_coroutine_threadsafe(task, self._loop)
        try:
            return outcome.result()
        except concurrent.futures.CancelledError:
            raise BufferClosedError("the buffer is closed") from None


async def _stop_loop() -> None:
    """Stops the loop once everything else on it has ended: it was woken, or is cancelled."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if others:
        _, left = await asyncio.wait(others, timeout=WAKE_S_MAX)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    # A task that ended just now passes its outcome on in the next turn of the loop.
    await asyncio.sleep(0)
    asyncio.get_running_loop().stop()
