"""The buffer on an event loop: sends the lanes of instances."""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from identity_engine._buffer.batch import Batch, UnacknowledgedBatch, batch_of, restored
from identity_engine._buffer.item import Item, item_as_sent, item_of
from identity_engine._buffer.lane import INTERVAL_MS, Lane
from identity_engine._buffer.ledger import Ledger
from identity_engine._buffer.options import Acknowledged, BufferClosed, BufferOptions
from identity_engine._buffer.spool import SpooledDone, SpooledObservation
from identity_engine._buffer.spool_writer import SpoolWriter
from identity_engine._buffer.verdict import Judged, Verdict, judge
from identity_engine._core.dictionaries import BatchObservationInput
from identity_engine._core.process import process
from identity_engine._core.retry import wait_before
from identity_engine.errors import (
    BufferClosedError,
    DeadlineError,
    IdentityEngineError,
    MalformedAnswerError,
)
from identity_engine.models import BatchProcessed
from identity_engine.results import Observed

Send = Callable[[str, Sequence[dict[str, Any]], str], Awaitable[Observed[BatchProcessed]]]
"""Function that sends observations of an instance under a key."""

KEY_MS_MAX = 23 * 3_600_000
"""Maximum age of a key for a retry, in milliseconds: the service keeps keys for 24 h."""

WAIT_S_MAX = 60.0
"""Maximum pause before a retry, in seconds.

A ``Retry-After`` may be longer, but a plan upgrade can end the refusals at any time.
"""

KNOWN_INSTANCES = 100_000
"""Maximum number of idle instances for which the buffer remembers the newest timestamp."""


class BufferCore:
    """Accepts observations and sends batches, in order for each instance."""

    def __init__(self, send: Send, options: BufferOptions, now_ms: Callable[[], int]) -> None:
        self._send = send
        self._options = options
        self._now_ms = now_ms
        self._lanes: dict[str, Lane] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._more: dict[str, asyncio.Event] = {}
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._slots = asyncio.Semaphore(options.instances_at_once)
        self._flushes = 0
        self._process = process()
        self._spool = None if options.spool is None else SpoolWriter(options.spool)
        self._is_started = False
        self._too_old: list[tuple[str, Item]] = []
        self.is_closed = False
        self._is_over = False
        self._hand_back = asyncio.Event()
        self._closing: asyncio.Task[BufferClosed] | None = None
        self.ledger = Ledger(options)
        self.error: BaseException | None = None

    async def add(self, instance_id: str, observation: BatchObservationInput) -> None:
        """Adds an observation; waits while the buffer is full."""
        self._assert_open()
        item = item_of(observation, self._now_ms())
        await self.ledger.room.take()
        self._assert_open()
        lane = self._lane(instance_id)
        lane.place(item)
        if self._spool is None:
            self._append(lane, item)
            return
        # Keep the lane while its newest observation is being written.
        lane.writing += 1

        def written(is_durable: bool) -> None:
            lane.writing -= 1
            if is_durable:
                self._append(lane, item)
            else:
                self.ledger.room.give_back(1)

        await asyncio.shield(self._spool.put(_spooled(lane, item), written))

    def start(self) -> None:
        """Queues the observations that an earlier process left in the spool."""
        if self._spool is None or self._is_started:
            return
        self._is_started = True
        for each in self._spool.load():
            item = item_as_sent(
                each.observation,
                is_own_time=each.is_timestamp_own,
                added_ms=each.added_at_ms,
            )
            lane = self._lane(each.instance_id)
            lane.place(item)
            lane.added += 1
            self.ledger.took(1, has_room=False)
            if self._now_ms() - item.added_ms > KEY_MS_MAX:
                self._too_old.append((lane.instance_id, item))
                lane.settled += 1
                self.ledger.pending -= 1
                continue
            lane.items.append(item)
            self._wake(lane)

    def _append(self, lane: Lane, item: Item) -> None:
        self._lanes[lane.instance_id] = lane
        lane.items.append(item)
        lane.added += 1
        self.ledger.took(1, has_room=True)
        self._wake(lane)

    async def flush(self) -> None:
        """Returns when all observations that were added earlier are finished."""
        if self._spool is not None:
            await self._spool.idle()
        marks = [(lane, lane.added) for lane in self._lanes.values()]
        self._flushes += 1
        try:
            for event in self._more.values():
                event.set()
            async with self.ledger.settled:
                while marks := [(lane, count) for lane, count in marks if lane.settled < count]:
                    self._assert_going_on(marks)
                    await self.ledger.settled.wait()
        finally:
            self._flushes -= 1

    def restore(self, batches: Sequence[UnacknowledgedBatch]) -> list[UnacknowledgedBatch]:
        """Queues returned batches, to be sent first. Returns batches that are too old."""
        self._assert_open()
        too_old: list[UnacknowledgedBatch] = []
        for given in batches:
            batch = restored(given)
            if self._is_too_old(batch):
                too_old.append(given)
                continue
            lane = self._lane(given.instance_id)
            lane.ready.append(batch)
            lane.newest_ms = max(batch.last_ms, lane.newest_ms or batch.last_ms)
            lane.added += len(batch.items)
            self.ledger.took(len(batch.items), has_room=False)
            self._wake(lane)
        return too_old

    async def close(self, timeout_s: float) -> BufferClosed:
        """Sends observations until the timeout. Returns all outcomes and the unsent observations.

        A repeated call returns the same result, even after an interrupted call.
        """
        self.is_closed = True
        self.ledger.room.end()
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        timer = asyncio.get_running_loop().call_later(timeout_s, self._hand_back.set)
        try:
            return await asyncio.shield(self._closing)
        finally:
            timer.cancel()

    async def _close(self) -> BufferClosed:
        ends = [asyncio.create_task(self.flush()), asyncio.create_task(self._hand_back.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        # Return the remaining observations, even after an error.
        if self._spool is not None:
            await self._spool.idle()
        tasks = [*ends, *self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._is_over = True
        await self.ledger.notify()
        if self._spool is not None:
            await self._spool.end()
        left = [
            batch.handed_back(lane.instance_id)
            for lane in self._lanes.values()
            for batch in lane.all_that_waits()
        ]
        for instance_id, item in self._too_old:
            old = batch_of([item])
            old.may_have_happened = True
            old.first_sent_ms = item.added_ms
            left.append(old.handed_back(instance_id))
        self._lanes.clear()
        self.ledger.pending = 0
        ledger = self.ledger
        return BufferClosed(
            acknowledged=ledger.acknowledged,
            rejected=tuple(ledger.rejected),
            throttled=tuple(ledger.throttled),
            unacknowledged=tuple(left),
        )

    def _lane(self, instance_id: str) -> Lane:
        lane = self._lanes.get(instance_id)
        if lane is None:
            newest_ms = self._newest.pop(instance_id, None)
            lane = Lane(instance_id, self._options.batch_max, newest_ms)
            self._lanes[instance_id] = lane
        return lane

    def _wake(self, lane: Lane) -> None:
        """Starts the task of a lane. A full batch is sent without delay."""
        if lane.instance_id not in self._tasks:
            self._more[lane.instance_id] = asyncio.Event()
            self._tasks[lane.instance_id] = asyncio.create_task(self._work(lane))
        if lane.is_full:
            self._more[lane.instance_id].set()

    async def _work(self, lane: Lane) -> None:
        """Sends one instance's pending observations until none is left."""
        try:
            while lane.has_work and self.error is None and self._process == process():
                await self._gather(lane)
                wait_ms = lane.wait_ms(self._now_ms())
                if wait_ms > 0:
                    await asyncio.sleep(min(wait_ms / 1_000, WAIT_S_MAX))
                    continue
                wait_s = await self._send_next(lane)
                if wait_s > 0:
                    await asyncio.sleep(wait_s)
        except Exception as error:
            await self._stop(error)
        finally:
            del self._tasks[lane.instance_id], self._more[lane.instance_id]
            is_empty = not lane.ready and not lane.items and lane.writing == 0
            if is_empty and lane.instance_id in self._lanes:
                del self._lanes[lane.instance_id]
                self._remember(lane)

    async def _gather(self, lane: Lane) -> None:
        """Waits until the lane has a full batch, the delay has passed, or a flush is requested."""
        more = self._more[lane.instance_id]
        if lane.is_full or self._flushes > 0 or self._options.delay_max_s == 0:
            return
        more.clear()
        try:
            await asyncio.wait_for(more.wait(), self._options.delay_max_s)
        except (TimeoutError, asyncio.TimeoutError):
            return

    async def _send_next(self, lane: Lane) -> float:
        """Makes one attempt to send the next batch. Returns the pause afterwards, in seconds."""
        async with self._slots:
            if self.error is not None:
                return 0.0
            now_ms = self._now_ms()
            batch = lane.next_batch(now_ms)
            if self._is_too_old(batch):
                lane.is_blocked = True
                await self.ledger.notify()
                return 0.0
            if batch.first_sent_ms is None:
                batch.first_sent_ms = now_ms
            batch.is_under_way = True
            try:
                result = await self._send(lane.instance_id, batch.observations, batch.key)
            except IdentityEngineError as error:
                batch.is_under_way = False
                return await self._refused(lane, batch, error)
            batch.is_under_way = False
        return await self._answered(lane, batch, result)

    async def _answered(self, lane: Lane, batch: Batch, result: Observed[BatchProcessed]) -> float:
        if result.throttled is not None:
            return await self._throttled(lane, batch, result, result.throttled.retry_after_s)
        results = result.data.results
        replayed = sum(each.status == "replayed" for each in results or ())
        if result.data.processed_count + replayed != len(batch.items):
            return await self._refused(lane, batch, _other_count(batch, result))
        lane.acknowledge(batch)
        self._done(lane, batch.items)
        await self.ledger.acknowledge(
            Acknowledged(lane.instance_id, batch.observations, result, replayed)
        )
        return 0.0

    async def _throttled(
        self, lane: Lane, batch: Batch, result: Observed[BatchProcessed], retry_after_s: float
    ) -> float:
        """Handles a throttled batch. An earlier attempt applied the replayed items."""
        results = result.data.results
        if results is not None and len(results) != len(batch.items):
            return await self._refused(lane, batch, _other_count(batch, result))
        statuses = (
            ["throttled"] * len(batch.items) if results is None else [r.status for r in results]
        )
        fresh = [item for item, s in zip(batch.items, statuses, strict=True) if s != "replayed"]
        known = [item for item, s in zip(batch.items, statuses, strict=True) if s == "replayed"]
        if not fresh:
            return await self._refused(lane, batch, _other_count(batch, result))
        # `Retry-After` counts from the first timestamp, in whole seconds.
        wait_ms = max(round(retry_after_s * 1_000), INTERVAL_MS)
        lost, moved = lane.throttled(batch, fresh, wait_ms)
        self._done(lane, [*known, *lost])
        if moved and self._spool is not None:
            # A new timestamp must be durable before it is sent: a later process must send the same
            # timestamp.
            await self._spool.put_all([_spooled(lane, item) for item in moved])
        if known:
            bodies = [item.body for item in known]
            news = Acknowledged(lane.instance_id, bodies, result, len(known))
            await self.ledger.acknowledge(news)
        if lost:
            await self.ledger.throttle(lane.instance_id, [item.body for item in lost])
        return 0.0

    def _done(self, lane: Lane, items: Sequence[Item]) -> None:
        """Marks observations as done in the spool."""
        keys = [item.key for item in items if item.key is not None]
        if self._spool is not None and keys:
            self._spool.done(SpooledDone(lane.instance_id, tuple(keys)))

    async def _refused(self, lane: Lane, batch: Batch, error: IdentityEngineError) -> float:
        batch.may_have_happened = batch.may_have_happened or error.may_have_happened
        judged = judge(error, len(batch.items), batch.may_have_happened)
        match judged.verdict:
            case Verdict.AGAIN:
                return self._pause(batch, error, judged)
            case Verdict.SPACE_AGAIN if batch.may_have_happened:
                # The service may still apply an earlier attempt, so only the same key is safe.
                return max(self._pause(batch, error, judged), 1.0)
            case Verdict.SPACE_AGAIN:
                pause_s = self._pause(batch, error, judged)
                lane.put_back(batch)
                return max(pause_s, 1.0)
            case Verdict.REJECT_ITEM:
                assert judged.index is not None, "the verdict REJECT_ITEM must name an item"
                lane.reject(batch, judged.index)
                self._done(lane, [batch.items[judged.index]])
                await self.ledger.reject(
                    lane.instance_id, [batch.observations[judged.index]], error
                )
            case Verdict.REJECT_BATCH:
                lane.reject_batch(batch)
                self._done(lane, batch.items)
                await self.ledger.reject(lane.instance_id, batch.observations, error)
            case Verdict.REJECT_INSTANCE:
                batches = lane.all_that_waits()
                observations = [each for one in batches for each in one.observations]
                lane.settled += len(observations)
                self._done(lane, [item for one in batches for item in one.items])
                await self.ledger.reject(lane.instance_id, observations, error)
            case Verdict.HALVE:
                lane.halve(batch)
            case Verdict.HAND_BACK:
                lane.is_blocked = True
                await self.ledger.notify()
            case Verdict.STOP:
                await self._stop(error)
        return 0.0

    def _pause(self, batch: Batch, error: IdentityEngineError, judged: Judged) -> float:
        batch.failures += 1
        wait_s = wait_before(batch.failures, error, random.random)
        return min(max(wait_s, judged.retry_after_s or 0.0), WAIT_S_MAX)

    async def _stop(self, error: BaseException) -> None:
        """Stops the buffer; all waiting calls raise the error."""
        if self.error is None:
            self.error = error
            self.ledger.room.end()
        await self.ledger.notify()

    def _is_too_old(self, batch: Batch) -> bool:
        sent_ms = batch.first_sent_ms
        is_old = sent_ms is not None and self._now_ms() - sent_ms > KEY_MS_MAX
        return is_old and batch.may_have_happened

    def _remember(self, lane: Lane) -> None:
        if lane.newest_ms is None:
            return
        self._newest[lane.instance_id] = lane.newest_ms
        if len(self._newest) > KNOWN_INSTANCES:
            self._newest.popitem(last=False)

    def _assert_open(self) -> None:
        if self.is_closed:
            raise BufferClosedError("the buffer is closed")
        if self.error is not None:
            raise self.error

    def _assert_going_on(self, marks: Sequence[tuple[Lane, int]]) -> None:
        if self.error is not None:
            raise self.error
        if self._is_over:
            raise BufferClosedError("the buffer is closed: close has returned the observations")
        if all(lane.is_blocked for lane, _ in marks):
            raise DeadlineError("an outcome stays unknown: close returns the observation")


def _spooled(lane: Lane, item: Item) -> SpooledObservation:
    return SpooledObservation(lane.instance_id, item.body, item.is_own_time, item.added_ms)


def _other_count(batch: Batch, result: Observed[BatchProcessed]) -> MalformedAnswerError:
    """Error for an answer whose number of observations differs from the batch."""
    error = MalformedAnswerError(
        f"the answer counts {result.data.processed_count} of {len(batch.items)} observations",
        status=result.status,
        request_id=result.request_id,
    )
    error.may_have_happened = True
    return error
