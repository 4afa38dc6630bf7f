"""``client.instance(id)``: observes and reads one instance."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal, overload

from identity_engine._core.answer import Answer
from identity_engine._core.call import Repeatable, path_of, send
from identity_engine._core.dictionaries import BatchObservationInput, ObservationInput
from identity_engine._core.envelope import One, is_old, observed_of, result_of
from identity_engine._core.guards import Seen
from identity_engine._sync.instance_reads import InstanceReads
from identity_engine.models import (
    BatchProcessed,
    BatchStates,
    ForkedInstance,
    Processed,
    ResetDone,
    ResetMode,
    States,
)
from identity_engine.results import Observed, Result

_PROCESSED = One[Processed]
_BATCH = One[BatchProcessed]
_STATES = One[States]
_BATCH_STATES = One[BatchStates]
_RESET = One[ResetDone]
_FORKED = One[ForkedInstance]


class InstanceHandle(InstanceReads):
    """One instance. Creating a handle sends no request."""

    def process(
        self,
        observation: ObservationInput,
        *,
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Observed[Processed]:
        """Processes an observation: one cycle, applied once despite retries.

        An observation less than 1.000 s after the previous observation changes and costs nothing.
        ``throttled`` in the result then has the time to wait, and ``data`` is the unchanged state.

        Args:
            observation: ``mode_target`` and ``signal_strength`` (0 to 1), optionally ``confidence``
                (0 to 1, default 1), ``context`` (up to 8 KiB of JSON, 16 levels) and ``timestamp``
                (at most 300 s ahead of the service).
            strict: Raise ``ThrottledError`` for an early observation, instead of a result.
            idempotency_key: 1 to 255 printable ASCII characters; default a new UUIDv7.
            request_id: Caller's request id: 8 to 64 characters of ``A-Z a-z 0-9 . _ -``.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            InvalidRequestError: A field breaks a rule.
            NotFoundError: The account has no instance with this id.
            QuotaExceededError: The monthly cycle quota is exhausted.
        """
        call = send(
            "POST",
            path_of("instances", self.id, "process"),
            observation,
            Repeatable.ALWAYS,
            is_keyed=True,
            idempotency_key=idempotency_key,
            request_id=request_id,
            strict=strict,
            in_order=True,
        )
        answer = self._caller.send(call, timeout_s, attempts_max)
        result = observed_of(answer, _PROCESSED)
        self._saw(answer, result, result.data)
        return result

    @overload
    def process_batch(
        self,
        observations: Sequence[BatchObservationInput],
        *,
        include_intermediate: Literal[False] = False,
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Observed[BatchProcessed]: ...

    @overload
    def process_batch(
        self,
        observations: Sequence[BatchObservationInput],
        *,
        include_intermediate: Literal[True],
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Observed[BatchStates]: ...

    @overload
    def process_batch(
        self,
        observations: Sequence[BatchObservationInput],
        *,
        include_intermediate: bool,
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Observed[BatchProcessed] | Observed[BatchStates]: ...

    def process_batch(
        self,
        observations: Sequence[BatchObservationInput],
        *,
        include_intermediate: bool = False,
        strict: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Observed[BatchProcessed] | Observed[BatchStates]:
        """Processes several observations atomically, with one cycle each.

        Args:
            observations: 1 to 100 observations, up to 256 KiB of JSON. Either all have a
                ``timestamp``, in order and at least 1.000 s apart, or none has.
            include_intermediate: Whether ``data`` has the state after each observation, instead of
                only the last state.
            strict: Raise ``ThrottledError`` for an early observation, instead of a result.
            idempotency_key: 1 to 255 printable ASCII characters; default a new UUIDv7.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            InvalidRequestError: ``field`` names the invalid value, such as
                ``observations[3].timestamp``. Nothing was applied.
            NotFoundError: The account has no instance with this id.
            QuotaExceededError: The monthly quota has fewer cycles left than the batch needs.
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
            in_order=True,
        )
        answer = self._caller.send(call, timeout_s, attempts_max)
        if include_intermediate:
            states = observed_of(answer, _BATCH_STATES)
            if states.data.states:
                self._saw(answer, states, states.data.states[-1])
            return states
        result = observed_of(answer, _BATCH)
        self._saw(answer, result, result.data)
        return result

    def simulate(
        self,
        observations: Sequence[ObservationInput],
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[States]:
        """Simulates 1 to 20 observations and returns the state after each. Nothing is changed or
        billed.

        Args:
            observations: Observations without ``timestamp`` are simulated 1.000 s apart.
                Observations with ``timestamp`` follow the rules for batches.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            InvalidRequestError: A field breaks a rule, or the first observation is too early
                (``timestamp_order``).
            NotFoundError: The account has no instance with this id.
        """
        call = send(
            "POST",
            path_of("instances", self.id, "simulate"),
            {"observations": list(observations)},
            Repeatable.ALWAYS,
            request_id=request_id,
            is_read=True,
        )
        return result_of(self._caller.send(call, timeout_s, attempts_max), _STATES)

    def reset(
        self,
        mode: ResetMode,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[ResetDone]:
        """Resets the instance to cycle 0 of a new generation.

        Args:
            mode: ``initial``: the state at creation; ``default``: the last stable state.
            if_match: An ``etag``: the reset applies only if this is the current version.
            idempotency_key: 1 to 255 printable ASCII characters; default a new UUIDv7.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            ConflictError: The current version differs (``version_mismatch``).
            NotFoundError: The account has no instance with this id.
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
        answer = self._caller.send(call, timeout_s, attempts_max)
        result = result_of(answer, _RESET)
        if not is_old(result):
            self._guards.begin_again(answer.began_s)
        return result

    def fork(
        self,
        name: str,
        *,
        cycle: int,
        description: str | None = None,
        tags: dict[str, str] | None = None,
        generation: int | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[ForkedInstance]:
        """Creates an instance in a past state of this instance, once despite retries.

        Args:
            name: Name of the new instance, 1 to 100 code points.
            cycle: The new instance begins in the state after this cycle.
            description: Up to 2,000 code points; default empty.
            tags: As for a create; default the tags of this instance.
            generation: Number of the generation of ``cycle``; default the present generation.
            idempotency_key: 1 to 255 printable ASCII characters; default a new UUIDv7.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no instance with this id, or the instance has no such
                cycle (``unknown_cycle``), or the cycle is no longer stored (``cycle_trimmed``).
            ConflictError: The state was not stored (``state_not_stored``).
            ForbiddenError: The key is read-only, or the plan allows no further instance
                (``instance_limit``).
        """
        fields = {
            "name": name,
            "cycle": cycle,
            "description": description,
            "tags": tags,
            "generation": generation,
        }
        call = send(
            "POST",
            path_of("instances", self.id, "fork"),
            {field: value for field, value in fields.items() if value is not None},
            Repeatable.ALWAYS,
            is_keyed=True,
            idempotency_key=idempotency_key,
            request_id=request_id,
        )
        return result_of(self._caller.send(call, timeout_s, attempts_max), _FORKED)

    def _saw(
        self, answer: Answer, result: Observed[Any], state: Processed | BatchProcessed
    ) -> None:
        if not is_old(result):
            self._saw_state(state, answer.began_s)

    def _saw_state(self, state: Processed | BatchProcessed, began_s: float) -> None:
        """Updates the guards with a state whose request began at this monotonic time."""
        seen = Seen(state.contract, began_s, time.monotonic(), state.snapshot.cycle)
        self._guards.update(seen)
