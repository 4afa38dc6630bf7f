"""An event stream, shared by all watchers of an instance."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from identity_engine._async.follower import Arrived, AsyncFollower
from identity_engine._core.async_io import Mutex
from identity_engine._core.process import Lock, Place
from identity_engine.errors import IdentityEngineError
from identity_engine.events import Event, StateEvent

UNREAD_MAX = 1_000
"""Maximum unread events per watcher. A state event has about 4,000 characters."""


class Watch:
    """One watcher of a hub."""

    def __init__(self, unread: list[Arrived[Event]], last_event_id: str | None) -> None:
        self.unread = deque(unread)
        self.last_event_id = last_event_id
        """Id of the last event that the watcher took, for resuming."""
        self.is_cut = False
        """Whether the watcher was too slow. The watcher then continues over its own connection."""

    def take(self) -> Arrived[Event]:
        """Removes and returns the next unread event."""
        arrived = self.unread.popleft()
        self.last_event_id = arrived.last_event_id
        return arrived


class AsyncHub:
    """Distributes a follower's events to several watchers.

    A watcher without unread events reads the next event for all watchers. A watcher that falls
    ``UNREAD_MAX`` events behind is cut off: a slow watcher must neither block the others nor use
    unbounded memory.
    """

    def __init__(self, follower: AsyncFollower[Event]) -> None:
        self._follower = follower
        self._events: AsyncGenerator[Arrived[Event], None] | None = None
        self._reading = Mutex()
        self._lock = Lock()
        self._watches: WeakSet[Watch] = WeakSet()
        self._recent: list[Arrived[Event]] = []
        self._error: IdentityEngineError | None = None
        self.is_ended = False

    def watch(self) -> Watch:
        """Adds a watcher, which starts with the newest state and the events since then."""
        with self._lock:
            watch = Watch(self._recent, self._follower.last_event_id)
            self._watches.add(watch)
            return watch

    async def next(self, watch: Watch) -> Arrived[Event] | None:
        """Returns the watcher's next event. None if the watcher was cut off or the stream ended."""
        while True:
            if watch.unread:
                return watch.take()
            if watch.is_cut:
                return None
            if self.is_ended:
                if self._error is not None:
                    raise self._error
                return None
            async with self._reading:
                if not self._has_news(watch):
                    await self._read()

    async def leave(self, watch: Watch) -> None:
        """Removes a watcher. Without watchers, the hub closes the connection."""
        with self._lock:
            self._watches.discard(watch)
            is_last = len(self._watches) == 0
        if is_last:
            self.is_ended = True
            events, self._events = self._events, None
            if events is not None:
                await events.aclose()

    def _has_news(self, watch: Watch) -> bool:
        return self.is_ended or watch.is_cut or len(watch.unread) > 0

    async def _read(self) -> None:
        """Reads one event and distributes it to all watchers."""
        if self._events is None:
            self._events = self._follower.events()
        try:
            arrived = await self._events.__anext__()
        except StopAsyncIteration:
            self.is_ended = True
        except IdentityEngineError as error:
            self._error = error
            self.is_ended = True
        except BaseException:
            # Cancellation ends only this generator. The next read resumes after the last event.
            self._events = None
            raise
        else:
            self._hand_out(arrived)

    def _hand_out(self, arrived: Arrived[Event]) -> None:
        with self._lock:
            if isinstance(arrived.event, StateEvent):
                self._recent = [arrived]
            elif 0 < len(self._recent) < UNREAD_MAX:
                self._recent.append(arrived)
            else:
                self._recent = []
            for watch in list(self._watches):
                if len(watch.unread) < UNREAD_MAX:
                    watch.unread.append(arrived)
                else:
                    watch.is_cut = True
                    self._watches.discard(watch)


class AsyncHubs:
    """Hubs of a client. A hub without streams is removed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._hubs: WeakKeyDictionary[Place, WeakValueDictionary[str, AsyncHub]]
        self._hubs = WeakKeyDictionary()

    def join(
        self, place: Place, follower: AsyncFollower[Event], path: str
    ) -> tuple[AsyncHub, Watch]:
        """Adds a watcher to the hub of a path in this process and event loop.

        A new hub reads from ``follower``.
        """
        with self._lock:
            hubs = self._hubs.setdefault(place, WeakValueDictionary())
            hub = hubs.get(path)
            if hub is None or hub.is_ended:
                hub = hubs[path] = AsyncHub(follower)
            return hub, hub.watch()
