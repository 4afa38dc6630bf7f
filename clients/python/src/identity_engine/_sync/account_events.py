"""``client.events``: changes in all instances of the account."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Any, Literal

from typing_extensions import Self

from identity_engine._core.call import get
from identity_engine._core.envelope import Many
from identity_engine._core.event_text import account_event_of
from identity_engine._core.process import Place, inherited
from identity_engine._core.sync_io import present_place
from identity_engine._sync.caller import Caller
from identity_engine._sync.follower import Arrived, Follower, Source
from identity_engine._sync.page import Page, fetch_page
from identity_engine.errors import ApiError, IdentityEngineError, MalformedAnswerError
from identity_engine.events import Followed, FollowedEvent, FollowedGap
from identity_engine.models import AccountEvent, EventsStart, EventType, SortOrder

_EVENTS = Many[AccountEvent]

_Block = AccountEvent | Literal["gap"]
"""An event, or the message that events are missing."""


class AccountEventStream:
    """Events of all instances of the account. Connects when the first item is requested.

    The stream reconnects after its last item, and never ends by itself. Events of one instance are
    in order. An event may be repeated with the same ``id``. The iteration raises
    ``UnauthorizedError`` or ``ForbiddenError`` for permanent failures, ``InvalidRequestError`` for
    an invalid cursor, and ``RateLimitedError`` if too many streams are open during the client's
    whole ``timeout_s``. Cancelling a wait loses no item. A slow consumer applies back-pressure to
    the connection. Each stream has its own connection.
    """

    def __init__(
        self,
        caller: Caller,
        types: str | None,
        start: EventsStart | None,
        cursor: str | None,
    ) -> None:
        self._caller = caller
        self._types = types
        self._follower = self._follower_from(start, cursor)
        self._arrivals: Generator[Arrived[_Block], None] | None = None
        self._place: Place | None = None
        self._expired: str | None = None
        self._is_ended = False

    @property
    def cursor(self) -> str | None:
        """Cursor after the last delivered item.

        While the iteration waits, the cursor also moves past events that ``types`` hides. None
        before the first answer of a stream without a cursor.
        """
        return self._follower.last_event_id or self._expired

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Followed:
        self._leave_other_place()
        if self._is_ended:
            raise StopIteration
        if self._arrivals is None:
            self._arrivals = self._follower.events()
        try:
            return _item_of(self._arrivals.__next__())
        except IdentityEngineError as error:
            expired = self._follower.last_event_id
            if expired is None or not _is_expired(error):
                self.close()
                raise
            self._expired = expired
            self._arrivals = None
            self._follower = self._follower_from("oldest", None)
            return FollowedGap(expired)
        except BaseException:
            # Cancellation ends only this generator. The next read resumes after the last item.
            self._arrivals = None
            raise

    def close(self) -> None:
        """Ends the iteration and closes the connection."""
        self._is_ended = True
        self._leave_other_place()
        arrivals, self._arrivals = self._arrivals, None
        if arrivals is not None:
            arrivals.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _follower_from(self, start: EventsStart | None, cursor: str | None) -> Follower[_Block]:
        call = get("/events", {"types": self._types, "start": start})
        source: Source[_Block] = Source(call, account_event_of, lambda _: False)
        return Follower(self._caller, source, cursor)

    def _leave_other_place(self) -> None:
        """Leaves the connection of another process or event loop without closing the connection.

        The stream then resumes after its last item, over a connection of this process and loop.
        """
        place = present_place()
        if self._place is not place:
            if self._arrivals is not None:
                inherited.append(self._arrivals)
                self._arrivals = None
            self._place = place


class AccountEvents:
    """Events of the account: a log of the changes in all instances."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        types: Sequence[EventType] | None = None,
        start: EventsStart | None = None,
        order: SortOrder | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        wait: int | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Page[AccountEvent]:
        """Returns a page of events, oldest first, or newest first with ``order="desc"``.

        ``pagination.next_cursor`` continues after the page, also if the page is empty. ``next``
        requests the next page if ``pagination.has_more``.

        Args:
            types: Wanted types; default all types but ``contract_changed`` and
                ``mode_changed``.
            start: Where to begin without a cursor: ``oldest`` (default) or ``newest``.
            order: ``asc`` (default), or ``desc``: the events before the cursor, newest first. The
                events after such a page follow ``pagination.newer_cursor``.
            cursor: ``next_cursor`` of a page, or the cursor of a followed item.
            limit: 1 to 1,000 events; default 100.
            wait: If there is no event, wait up to this number of seconds for an event: 0 (default)
                to 8, and less than ``attempt_timeout_s`` of the client.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            InvalidRequestError: The reason ``cursor_expired`` (410) says that events after the
                cursor are no longer kept, or that the service was restored from a backup. Then
                continue with ``start="oldest"``, and read the instances that matter again.
        """
        query: dict[str, Any] = {
            "types": _joined(types),
            "start": start,
            "order": order,
            "cursor": cursor,
            "limit": limit,
            "wait": wait,
        }
        return fetch_page(
            self._caller,
            "/events",
            query,
            _EVENTS,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    def follow(
        self,
        *,
        types: Sequence[EventType] | None = None,
        start: EventsStart | None = None,
        cursor: str | None = None,
    ) -> AccountEventStream:
        """Follows all events after a cursor, as they happen.

        The stream reconnects, and never ends by itself. Each item has the cursor to store after you
        have handled the item. The item ``gap`` says that events are missing.

        Args:
            types: Wanted types; default all types but ``contract_changed`` and
                ``mode_changed``.
            start: Where to begin without a cursor: ``newest`` (default) or ``oldest``.
            cursor: Cursor of the last handled item, or ``next_cursor`` of a page.
        """
        return AccountEventStream(self._caller, _joined(types), start, cursor)


def _joined(types: Sequence[EventType] | None) -> str | None:
    return None if types is None else types if isinstance(types, str) else ",".join(types)


def _item_of(arrived: Arrived[_Block]) -> Followed:
    cursor = arrived.last_event_id
    if cursor is None:
        raise MalformedAnswerError("an event of the account has no cursor", status=200)
    if arrived.event == "gap":
        return FollowedGap(cursor)
    return FollowedEvent(arrived.event, cursor)


def _is_expired(error: IdentityEngineError) -> bool:
    """Whether the events after a cursor are no longer kept."""
    return isinstance(error, ApiError) and error.reason == "cursor_expired"
