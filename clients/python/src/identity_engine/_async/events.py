"""``instance.events()``: the live stream of one instance, which reconnects automatically."""

from __future__ import annotations

import time
from types import TracebackType

from typing_extensions import Self

from identity_engine._async.caller import AsyncCaller
from identity_engine._async.follower import AsyncFollower, Source
from identity_engine._async.hub import AsyncHub, AsyncHubs, Watch
from identity_engine._core.async_io import present_place
from identity_engine._core.call import get, path_of
from identity_engine._core.event_text import event_of
from identity_engine._core.guards import Guards, Seen
from identity_engine._core.process import Place, inherited
from identity_engine.errors import IdentityEngineError
from identity_engine.events import DeletedEvent, Event, ResetEvent, StateEvent


class AsyncEventStream:
    """Events of one instance. The stream connects when the first event is requested.

    The iteration ends after ``DeletedEvent``. It raises ``UnauthorizedError``, ``ForbiddenError``
    or ``NotFoundError`` for permanent failures, ``InvalidRequestError`` for an ``after`` in the
    future, and ``RateLimitedError`` if too many streams are open during the client's whole
    ``timeout_s``. After all other failures, the stream reconnects. Cancelling a wait loses no
    event. A slow consumer applies back-pressure to the connection.

    Streams without ``after`` share one connection per client and instance. Each such stream begins
    with the newest state.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        hubs: AsyncHubs,
        instance_id: str,
        after: int | None,
        guards: Guards,
    ) -> None:
        self._caller = caller
        self._hubs = hubs
        self._path = path_of("instances", instance_id, "events")
        self._guards = guards
        self._hub: AsyncHub | None = None
        self._watch: Watch | None = None
        self._place: Place | None = None
        self._is_ended = False
        self.last_event_id: str | None = None if after is None else str(after)
        """Ordinal of the last received cycle, for resuming; None before the first cycle."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        self._leave_other_place()
        while not self._is_ended:
            hub, watch = self._joined()
            try:
                arrived = await hub.next(watch)
            except IdentityEngineError:
                self._is_ended = True
                raise
            finally:
                self.last_event_id = watch.last_event_id
            if arrived is not None:
                self._note(arrived.event)
                return arrived.event
            if watch.is_cut:
                self._hub = self._watch = None
            else:
                self._is_ended = True
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Ends the iteration. Closes the connection unless other streams share it."""
        self._is_ended = True
        self._leave_other_place()
        if self._hub is not None and self._watch is not None:
            await self._hub.leave(self._watch)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _joined(self) -> tuple[AsyncHub, Watch]:
        """Hub of this stream: shared, or separate if the stream resumes after an event."""
        if self._hub is None or self._watch is None:
            source: Source[Event] = Source(get(self._path), event_of, _is_deletion)
            follower = AsyncFollower(self._caller, source, self.last_event_id)
            if self.last_event_id is None:
                place = present_place()
                self._hub, self._watch = self._hubs.join(place, follower, self._path)
            else:
                self._hub = AsyncHub(follower)
                self._watch = self._hub.watch()
        return self._hub, self._watch

    def _leave_other_place(self) -> None:
        """Leaves the connection of another process or event loop without closing the connection.

        The stream then resumes after its last event, over a connection of this process and loop.
        """
        place = present_place()
        if self._place is not place:
            if self._hub is not None:
                inherited.append(self._hub)
                self._hub = self._watch = None
            self._place = place

    def _note(self, event: Event) -> None:
        if isinstance(event, DeletedEvent):
            self._is_ended = True
        elif isinstance(event, StateEvent):
            now_s = time.monotonic()
            cycle = event.data.snapshot.cycle
            self._guards.update(Seen(event.data.contract, now_s, now_s, cycle, is_event=True))
        elif isinstance(event, ResetEvent):
            self._guards.begin_again()


def _is_deletion(event: Event) -> bool:
    """Whether an event is the last of its instance."""
    return isinstance(event, DeletedEvent)
