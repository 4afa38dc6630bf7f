"""Pages of lists, and iterators over all entries."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from identity_engine._async.caller import AsyncCaller
from identity_engine._core.call import get
from identity_engine._core.envelope import Many, listed_of
from identity_engine._core.paging import query_of_next
from identity_engine.models import AsOf
from identity_engine.results import PageInfo, Result

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AsyncPage(Result[list[T]]):
    """A page of a list. ``data`` contains the entries."""

    pagination: PageInfo
    """Position of the page in the list."""
    _fetch_next: Callable[[], Awaitable[AsyncPage[T]]] | None = field(repr=False, compare=False)
    as_of: AsOf | None = None
    """Time and position of the log up to which the page has all events. Only with a filter."""

    @property
    def has_next(self) -> bool:
        """Whether another page follows."""
        return self._fetch_next is not None

    async def next(self) -> AsyncPage[T] | None:
        """Returns the next page; None at the end."""
        return None if self._fetch_next is None else await self._fetch_next()


async def fetch_page(
    caller: AsyncCaller,
    path: str,
    query: Mapping[str, Any],
    frame: type[Many[T]],
    *,
    request_id: str | None,
    timeout_s: float | None,
    attempts_max: int | None,
) -> AsyncPage[T]:
    """Requests a page of a list."""
    call = get(path, query, request_id=request_id)
    listed = listed_of(await caller.send(call, timeout_s, attempts_max), frame)
    following = query_of_next(query, listed.pagination, len(listed.result.data))

    async def fetch_next() -> AsyncPage[T]:
        return await fetch_page(
            caller,
            path,
            following or {},
            frame,
            request_id=None,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    beside = {each.name: getattr(listed.result, each.name) for each in fields(Result)}
    return AsyncPage(
        **beside,
        pagination=listed.pagination,
        _fetch_next=None if following is None else fetch_next,
        as_of=listed.as_of,
    )


async def items_of(
    caller: AsyncCaller,
    path: str,
    query: Mapping[str, Any],
    frame: type[Many[T]],
    *,
    request_id: str | None,
    timeout_s: float | None,
    attempts_max: int | None,
    place_of: Callable[[T], tuple[int, ...]] | None = None,
) -> AsyncGenerator[T, None]:
    """Yields the entries of a page and of all following pages. Keeps one page in memory.

    ``place_of`` returns the position of an entry. Positions decrease from entry to entry. An entry
    without a lower position is a repetition: newer entries have moved this entry to a later page.
    """
    last: tuple[int, ...] | None = None
    page: AsyncPage[T] | None = await fetch_page(
        caller,
        path,
        query,
        frame,
        request_id=request_id,
        timeout_s=timeout_s,
        attempts_max=attempts_max,
    )
    while page is not None:
        for item in page.data:
            if place_of is not None:
                place = place_of(item)
                if last is not None and place >= last:
                    continue
                last = place
            yield item
        page = await page.next()
