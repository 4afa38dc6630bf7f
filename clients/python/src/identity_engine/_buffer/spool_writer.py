"""Writes to a spool outside the event loop, several entries per write (group commit)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from identity_engine._buffer.spool import SpooledDone, SpooledObservation, SpoolStore
from identity_engine.errors import SpoolError

logger = logging.getLogger("identity_engine")


@dataclass(slots=True)
class _Waiting:
    entries: Sequence[SpooledObservation | SpooledDone]
    written: Callable[[bool], None] | None
    outcome: asyncio.Future[None]


class SpoolWriter:
    """Saves entries in order."""

    def __init__(self, store: SpoolStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "identity-engine-spool")
        self._queue: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    def load(self) -> Iterable[SpooledObservation]:
        """Returns the pending observations of an earlier process."""
        return self._store.load()

    def put(
        self, entry: SpooledObservation, written: Callable[[bool], None]
    ) -> asyncio.Future[None]:
        """Saves an entry; completes when durable. First calls ``written``: True if durable."""
        return self._add([entry], written)

    def put_all(self, entries: Sequence[SpooledObservation]) -> asyncio.Future[None]:
        """Saves entries; completes when all are durable."""
        return self._add(entries, None)

    def done(self, entry: SpooledDone) -> None:
        """Queues an entry without waiting. If the write fails, the next process sends the
        observations again, and the service replays the answers.
        """
        outcome = self._add([entry], None)
        outcome.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())

    async def idle(self) -> None:
        """Returns when all queued writes have succeeded or failed."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def end(self) -> None:
        """Saves pending entries and closes the store."""
        await self.idle()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._store.close)
        self._thread.shutdown(wait=False)

    def _add(
        self,
        entries: Sequence[SpooledObservation | SpooledDone],
        written: Callable[[bool], None] | None,
    ) -> asyncio.Future[None]:
        outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(entries, written, outcome))
        if self._task is None:
            self._task = asyncio.create_task(self._write())
        return outcome

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._queue:
                group, self._queue = self._queue, []
                entries = [entry for each in group for entry in each.entries]
                error: SpoolError | None = None
                try:
                    await loop.run_in_executor(self._thread, self._store.save, entries)
                except Exception as cause:
                    logger.warning("a spool cannot be written: %s", cause)
                    error = SpoolError(f"the spool cannot be written: {cause}")
                    error.__cause__ = cause
                for each in group:
                    if each.written is not None:
                        each.written(error is None)
                    if not each.outcome.done():
                        if error is None:
                            each.outcome.set_result(None)
                        else:
                            each.outcome.set_exception(error)
        finally:
            self._task = None
