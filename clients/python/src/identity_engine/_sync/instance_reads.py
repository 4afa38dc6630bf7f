"""Reads of one instance: state, contract, history, drift, events."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import overload

from identity_engine._core.call import get, path_of
from identity_engine._core.envelope import Many, One, conditional_of, result_of
from identity_engine._core.guards import Guards, Seen
from identity_engine._sync.caller import Caller
from identity_engine._sync.events import EventStream
from identity_engine._sync.guard import ContractGuard
from identity_engine._sync.hub import Hubs
from identity_engine._sync.page import Page, fetch_page, items_of
from identity_engine.models import (
    Contract,
    CurrentSnapshot,
    DriftEvent,
    GenerationChoice,
    HistoryRecord,
    PastStates,
)
from identity_engine.results import NotModified, Result

_SNAPSHOT = One[CurrentSnapshot]
_CONTRACT = One[Contract]
_PAST = One[PastStates]
_HISTORY = Many[HistoryRecord]
_DRIFT = Many[DriftEvent]


class InstanceReads:
    """Methods of an instance handle that read."""

    def __init__(self, caller: Caller, hubs: Hubs, id: str) -> None:
        self._caller = caller
        self._hubs = hubs
        self._guards = Guards()
        self.id = id
        """``inst_`` and 16 hexadecimal digits."""

    @overload
    def snapshot(
        self,
        *,
        if_none_match: None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[CurrentSnapshot]: ...

    @overload
    def snapshot(
        self,
        *,
        if_none_match: str,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[CurrentSnapshot] | NotModified: ...

    def snapshot(
        self,
        *,
        if_none_match: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[CurrentSnapshot] | NotModified:
        """Returns the state after the last cycle, without processing anything.

        Args:
            if_none_match: An ``etag``; if it is the current version, the answer is ``NotModified``.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no instance with this id.
        """
        call = get(
            path_of("instances", self.id, "snapshot"),
            request_id=request_id,
            if_none_match=if_none_match,
        )
        return conditional_of(self._caller.send(call, timeout_s, attempts_max), _SNAPSHOT)

    @overload
    def contract(
        self,
        *,
        if_none_match: None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Contract]: ...

    @overload
    def contract(
        self,
        *,
        if_none_match: str,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Contract] | NotModified: ...

    def contract(
        self,
        *,
        if_none_match: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Contract] | NotModified:
        """Returns the current contract: recommended and forbidden behavior. Processes nothing.

        Args:
            if_none_match: An ``etag``; if it is the current version, the answer is ``NotModified``.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no instance with this id.
        """
        call = get(
            path_of("instances", self.id, "contract"),
            request_id=request_id,
            if_none_match=if_none_match,
        )
        answer = self._caller.send(call, timeout_s, attempts_max)
        result = conditional_of(answer, _CONTRACT)
        if not result.is_not_modified:
            self._guards.update(Seen(result.data, answer.began_s, time.monotonic(), None))
        return result

    def states(
        self,
        *,
        cycles: Sequence[int] | None = None,
        points: int | None = None,
        generation: int | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[PastStates]:
        """Returns past states: at exact cycles, or stored states in even steps.

        Args:
            cycles: 1 to 10 cycles, answered in this order. Excludes ``points``.
            points: Maximum number of stored states, 1 to 200; default 100.
            generation: Number of a generation, from 1; default the present generation.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no instance with this id, or the instance has no such
                cycle (``unknown_cycle``), or the cycle is no longer stored (``cycle_trimmed``).
            ConflictError: The state was not stored (``state_not_stored``). ``first_cycle`` in
                ``details`` is the first available cycle.
        """
        text = None if cycles is None else ",".join(str(cycle) for cycle in cycles)
        call = get(
            path_of("instances", self.id, "states"),
            {"cycles": text, "points": points, "generation": generation},
            request_id=request_id,
        )
        return result_of(self._caller.send(call, timeout_s, attempts_max), _PAST)

    def history(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        generation: GenerationChoice | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Page[HistoryRecord]:
        """Returns a page of processed observations, newest first. A page may be shorter than
        ``limit``.

        Args:
            limit: 1 to 1,000 entries; default 100.
            offset: Number of newest entries to skip; default 0.
            cursor: ``next_cursor`` from the previous page, instead of ``offset``.
            generation: ``current`` (default), or ``all`` to include entries before resets.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no instance with this id.
        """
        query = {"limit": limit, "offset": offset, "cursor": cursor, "generation": generation}
        path = path_of("instances", self.id, "history")
        return fetch_page(
            self._caller,
            path,
            query,
            _HISTORY,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    def iterate_history(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        generation: GenerationChoice | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Generator[HistoryRecord, None, None]:
        """Iterates over processed observations, newest first. Keeps one page in memory.

        Yields each observation once, even if new observations arrive meanwhile. Takes the arguments
        of ``history``; ``timeout_s`` and ``attempts_max`` apply to each page.
        """
        query = {"limit": limit, "offset": offset, "cursor": cursor, "generation": generation}
        path = path_of("instances", self.id, "history")
        return items_of(
            self._caller,
            path,
            query,
            _HISTORY,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
            place_of=_place_of,
        )

    def drift(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        generation: GenerationChoice | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Page[DriftEvent]:
        """Returns a page of drift events, newest first.

        Without ``limit`` and ``offset``, returns up to 1,000 events without a next page.

        Args:
            limit: 1 to 1,000 entries.
            offset: Number of newest entries to skip.
            cursor: ``next_cursor`` from the previous page, instead of ``offset``.
            generation: ``current`` (default), or ``all`` to include entries before resets.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no instance with this id.
        """
        query = {"limit": limit, "offset": offset, "cursor": cursor, "generation": generation}
        path = path_of("instances", self.id, "drift")
        return fetch_page(
            self._caller,
            path,
            query,
            _DRIFT,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    def iterate_drift(
        self,
        *,
        limit: int = 100,
        offset: int | None = None,
        cursor: str | None = None,
        generation: GenerationChoice | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Generator[DriftEvent, None, None]:
        """Iterates over drift events, newest first. Keeps one page in memory.

        Takes the arguments of ``drift``; ``timeout_s`` and ``attempts_max`` apply to each page.
        """
        query = {"limit": limit, "offset": offset, "cursor": cursor, "generation": generation}
        path = path_of("instances", self.id, "drift")
        return items_of(
            self._caller,
            path,
            query,
            _DRIFT,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
            place_of=_place_of,
        )

    def events(self, *, after: int | None = None) -> EventStream:
        """Follows the instance: yields every cycle once, in order.

        The stream reconnects automatically. It is an iterator, and a context manager that closes
        the connection. Streams without ``after`` share one connection per client and instance.

        Args:
            after: Ordinal of the last cycle that the caller has received; 0 for all cycles.
                Default: new events only.
        """
        return EventStream(self._caller, self._hubs, self.id, after, self._guards)

    def guard(self, *, max_age_s: float | None = None) -> ContractGuard:
        """Returns a guard with the newest contract that this handle receives.

        Args:
            max_age_s: Maximum age of the contract, in seconds; default any age.
        """
        guard = ContractGuard(self.contract, max_age_s, time.monotonic)
        self._guards.add(guard)
        return guard


def _place_of(entry: HistoryRecord | DriftEvent) -> tuple[int, int]:
    """Position of an entry in the instance's history. Later entries have greater positions."""
    return entry.generation or 0, entry.cycle
