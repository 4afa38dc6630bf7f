"""``client.instance(id)``: observe one instance and read what became of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, overload

from identity_engine._async.caller import AsyncCaller
from identity_engine._async.events import AsyncEventStream
from identity_engine._async.guard import AsyncContractGuard
from identity_engine._async.page import AsyncPage, fetch_page, items_of
from identity_engine._core.call import Repeatable, get, path_of, send
from identity_engine._core.envelope import Many, One, conditional_of, observed_of, result_of
from identity_engine._core.guards import Guards
from identity_engine.models import (
    BatchProcessed,
    Contract,
    CurrentSnapshot,
    DriftEvent,
    GenerationChoice,
    HistoryRecord,
    Observation,
    Processed,
    ResetDone,
    ResetMode,
    States,
)
from identity_engine.results import NotModified, Observed, Result

_PROCESSED = One[Processed]
_BATCH = One[BatchProcessed]
_STATES = One[States]
_SNAPSHOT = One[CurrentSnapshot]
_CONTRACT = One[Contract]
_RESET = One[ResetDone]
_HISTORY = Many[HistoryRecord]
_DRIFT = Many[DriftEvent]

ObservationInput = Observation | Mapping[str, Any]
"""An observation as a model, or as a mapping with the same fields."""


class AsyncInstanceHandle:
    """One instance. Making this asks nothing of the service."""

    def __init__(self, caller: AsyncCaller, id: str) -> None:
        self._caller = caller
        self._guards = Guards()
        self.id = id
        """``inst_`` and 16 hexadecimal digits."""

    async def process(
        self,
        observation: ObservationInput,
        *,
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Observed[Processed]:
        """Processes one observation: one cycle, counted once however often it has to be sent.

        An observation less than 1.000 s after the previous one changes nothing and costs nothing:
        ``throttled`` of the result then says how long to wait, and ``data`` is the state before.

        Args:
            observation: ``mode_target`` and ``signal_strength`` (0 to 1), optionally ``confidence``
                (0 to 1, 1 if left out), ``context`` (up to 8 KiB of JSON, 16 levels) and
                ``timestamp`` (at most 300 s ahead of the service).
            strict: Whether being throttled is a ``ThrottledError`` instead of a value.
            idempotency_key: 1 to 255 printable ASCII characters; a new UUIDv7 if left out.
            request_id: The caller's own id of the request: 8 to 64 of ``A-Z a-z 0-9 . _ -``.
            timeout_s: Deadline of this call with all its attempts, in seconds.

        Raises:
            InvalidRequestError: A field breaks a rule.
            NotFoundError: There is no such instance in the account.
            QuotaExceededError: The cycles of the month are used up.
        """
        call = send(
            "POST",
            path_of("instances", self.id, "process"),
            _fields(observation),
            Repeatable.ALWAYS,
            is_keyed=True,
            idempotency_key=idempotency_key,
            request_id=request_id,
            strict=strict,
        )
        answer = await self._caller.send(call, timeout_s)
        result = observed_of(answer, _PROCESSED)
        self._guards.update(result.data.contract, answer.began_s)
        return result

    @overload
    async def process_batch(
        self,
        observations: Sequence[ObservationInput],
        *,
        include_intermediate: Literal[False] = False,
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Observed[BatchProcessed]: ...

    @overload
    async def process_batch(
        self,
        observations: Sequence[ObservationInput],
        *,
        include_intermediate: Literal[True],
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Observed[States]: ...

    async def process_batch(
        self,
        observations: Sequence[ObservationInput],
        *,
        include_intermediate: bool = False,
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Observed[BatchProcessed] | Observed[States]:
        """Processes several observations as one unit: all of them or none, one cycle each.

        Args:
            observations: 1 to 100, 256 KiB of JSON together. Either all have a ``timestamp``, in
                order and at least 1.000 s apart, or none has.
            include_intermediate: Whether ``data`` has the state after each one instead of the last.
            strict: Whether being throttled is a ``ThrottledError`` instead of a value.
            idempotency_key: 1 to 255 printable ASCII characters; a new UUIDv7 if left out.
            request_id: The caller's own id of the request.
            timeout_s: Deadline of this call with all its attempts, in seconds.

        Raises:
            InvalidRequestError: ``field`` says which one breaks a rule, such as
                ``observations[3].timestamp``. Nothing was applied.
            NotFoundError: There is no such instance in the account.
            QuotaExceededError: Fewer cycles are left of the month than the batch needs.
        """
        body: dict[str, object] = {"observations": list(observations)}
        if include_intermediate:
            body["include_intermediate"] = True
        call = send(
            "POST",
            path_of("instances", self.id, "process", "batch"),
            body,
            Repeatable.ALWAYS,
            is_keyed=True,
            idempotency_key=idempotency_key,
            request_id=request_id,
            strict=strict,
        )
        answer = await self._caller.send(call, timeout_s)
        if include_intermediate:
            states = observed_of(answer, _STATES)
            if states.data.states:
                self._guards.update(states.data.states[-1].contract, answer.began_s)
            return states
        result = observed_of(answer, _BATCH)
        self._guards.update(result.data.contract, answer.began_s)
        return result

    async def simulate(
        self,
        observations: Sequence[ObservationInput],
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Result[States]:
        """What observations would do: the state after each of 1 to 20. Nothing changes, nothing is
        billed.

        Args:
            observations: Without ``timestamp`` they follow each other at 1.000 s; with it the rules
                of a batch hold.
            request_id: The caller's own id of the request.
            timeout_s: Deadline of this call with all its attempts, in seconds.

        Raises:
            InvalidRequestError: A field breaks a rule, or the first one comes too early
                (``timestamp_order``).
            NotFoundError: There is no such instance in the account.
        """
        call = send(
            "POST",
            path_of("instances", self.id, "simulate"),
            {"observations": list(observations)},
            Repeatable.ALWAYS,
            request_id=request_id,
        )
        return result_of(await self._caller.send(call, timeout_s), _STATES)

    @overload
    async def snapshot(
        self,
        *,
        if_none_match: None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Result[CurrentSnapshot]: ...

    @overload
    async def snapshot(
        self,
        *,
        if_none_match: str,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Result[CurrentSnapshot] | NotModified: ...

    async def snapshot(
        self,
        *,
        if_none_match: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Result[CurrentSnapshot] | NotModified:
        """The state after the last cycle; processes nothing.

        Args:
            if_none_match: An ``etag``; while it is the present version the answer is
                ``NotModified``.
            request_id: The caller's own id of the request.
            timeout_s: Deadline of this call with all its attempts, in seconds.

        Raises:
            NotFoundError: There is no such instance in the account.
        """
        call = get(
            path_of("instances", self.id, "snapshot"),
            request_id=request_id,
            if_none_match=if_none_match,
        )
        return conditional_of(await self._caller.send(call, timeout_s), _SNAPSHOT)

    @overload
    async def contract(
        self,
        *,
        if_none_match: None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Result[Contract]: ...

    @overload
    async def contract(
        self,
        *,
        if_none_match: str,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Result[Contract] | NotModified: ...

    async def contract(
        self,
        *,
        if_none_match: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Result[Contract] | NotModified:
        """What the agent should and should not do now; processes nothing.

        Args:
            if_none_match: An ``etag``; while it is the present version the answer is
                ``NotModified``.
            request_id: The caller's own id of the request.
            timeout_s: Deadline of this call with all its attempts, in seconds.

        Raises:
            NotFoundError: There is no such instance in the account.
        """
        call = get(
            path_of("instances", self.id, "contract"),
            request_id=request_id,
            if_none_match=if_none_match,
        )
        answer = await self._caller.send(call, timeout_s)
        result = conditional_of(answer, _CONTRACT)
        if not result.is_not_modified:
            self._guards.update(result.data, answer.began_s)
        return result

    async def reset(
        self,
        mode: ResetMode,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Result[ResetDone]:
        """Takes the instance back to cycle 0 of a new generation.

        Args:
            mode: ``initial``: as it was created; ``default``: the last stable state.
            if_match: An ``etag``: it is reset only if this is still the present version.
            idempotency_key: 1 to 255 printable ASCII characters; a new UUIDv7 if left out.
            request_id: The caller's own id of the request.
            timeout_s: Deadline of this call with all its attempts, in seconds.

        Raises:
            ConflictError: The version is another one (``version_mismatch``).
            NotFoundError: There is no such instance in the account.
        """
        call = send(
            "POST",
            path_of("instances", self.id, "reset"),
            {"mode": mode},
            Repeatable.ALWAYS,
            is_keyed=True,
            idempotency_key=idempotency_key,
            if_match=if_match,
            request_id=request_id,
        )
        return result_of(await self._caller.send(call, timeout_s), _RESET)

    async def history(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        generation: GenerationChoice | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> AsyncPage[HistoryRecord]:
        """One page of processed observations, newest first. It may be shorter than ``limit``.

        Args:
            limit: 1 to 1,000 entries; 100 if left out.
            offset: How many of the newest to leave out; 0 if left out.
            generation: ``current`` (if left out) or ``all``: those before resets too.
            request_id: The caller's own id of the request.
            timeout_s: Deadline of this call with all its attempts, in seconds.

        Raises:
            NotFoundError: There is no such instance in the account.
        """
        query = {"limit": limit, "offset": offset, "generation": generation}
        path = path_of("instances", self.id, "history")
        return await fetch_page(
            self._caller, path, query, _HISTORY, request_id=request_id, timeout_s=timeout_s
        )

    def iterate_history(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        generation: GenerationChoice | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> AsyncIterator[HistoryRecord]:
        """All processed observations from ``offset`` on, one page of ``limit`` in memory at a time.

        Cycles that are processed meanwhile move all others back, so some may come twice. Arguments
        are those of ``history``; ``timeout_s`` holds for each page.
        """
        query = {"limit": limit, "offset": offset, "generation": generation}
        path = path_of("instances", self.id, "history")
        return items_of(
            self._caller, path, query, _HISTORY, request_id=request_id, timeout_s=timeout_s
        )

    async def drift(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        generation: GenerationChoice | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> AsyncPage[DriftEvent]:
        """Drift events, newest first. Without ``limit`` and ``offset`` up to 1,000 and no further
        page.

        Args:
            limit: 1 to 1,000 entries.
            offset: How many of the newest to leave out.
            generation: ``current`` (if left out) or ``all``: those before resets too.
            request_id: The caller's own id of the request.
            timeout_s: Deadline of this call with all its attempts, in seconds.

        Raises:
            NotFoundError: There is no such instance in the account.
        """
        query = {"limit": limit, "offset": offset, "generation": generation}
        path = path_of("instances", self.id, "drift")
        return await fetch_page(
            self._caller, path, query, _DRIFT, request_id=request_id, timeout_s=timeout_s
        )

    def iterate_drift(
        self,
        *,
        limit: int = 100,
        offset: int | None = None,
        generation: GenerationChoice | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
    ) -> AsyncIterator[DriftEvent]:
        """All drift events from ``offset`` on, one page of ``limit`` in memory at a time.

        Arguments are those of ``drift``; ``timeout_s`` holds for each page.
        """
        query = {"limit": limit, "offset": offset, "generation": generation}
        path = path_of("instances", self.id, "drift")
        return items_of(
            self._caller, path, query, _DRIFT, request_id=request_id, timeout_s=timeout_s
        )

    def events(self, *, after: int | None = None) -> AsyncEventStream:
        """Follows the instance: every cycle in order, none left out and none twice.

        The stream reconnects by itself. It is an iterator, and a context manager that closes it.

        Args:
            after: Ordinal of the last cycle that the caller has; 0 is the beginning. What happens
                from now on if left out.
        """
        return AsyncEventStream(self._caller, self.id, after, self._guards)

    def guard(self, *, max_age_s: float | None = None) -> AsyncContractGuard:
        """A guard that holds the newest contract of what this handle receives.

        Args:
            max_age_s: How old its contract may be, in seconds; any age if left out.
        """
        guard = AsyncContractGuard(self.contract, max_age_s, time.monotonic)
        self._guards.add(guard)
        return guard


def _fields(observation: ObservationInput) -> Mapping[str, object]:
    if isinstance(observation, Observation):
        return observation.model_dump(exclude_unset=True)
    return observation
