"""An agent whose character is one instance."""

from __future__ import annotations

import contextlib
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, replace
from functools import partial
from types import TracebackType
from typing import Literal, Protocol, get_args

from identity_engine._agent.appraiser import (
    Appraisal,
    AsyncAppraiser,
    ToolOutcome,
    ToolUse,
    Turn,
    TurnOutcome,
    checked_appraisal,
    rule_appraiser,
)
from identity_engine._agent.contract_prompt import WORDING, Wording, contract_prompt
from identity_engine._agent.outcome import outcome_of
from identity_engine._agent.tool_policy import ToolPolicy
from identity_engine._async.instance import AsyncInstanceHandle
from identity_engine._buffer.item import time_text
from identity_engine._buffer.lane import AHEAD_MS_MAX, INTERVAL_MS
from identity_engine._core.async_io import Event, Once, sleep, wait_at_most, within
from identity_engine._core.dictionaries import BatchObservationInput
from identity_engine._core.process import ForkAware, Lock, on_fork
from identity_engine.errors import (
    ApiError,
    ClientClosedError,
    ConfigurationError,
    IdentityEngineError,
)
from identity_engine.models import Contract, ModeStrengths

Unavailable = Literal["open", "closed", "raise"]
"""Behavior without a contract, because the service is away.

``open``: no prompt, every tool is permitted. ``closed``: mapped tools are refused. ``raise``:
``begin`` raises the cause.
"""

WAITING_MAX = 1_000
"""Maximum number of ended turns whose observations wait. Enough for minutes of a slow service."""

THROTTLED_MAX = 10
"""Maximum attempts for an observation that another process preceded by less than a second."""

REST_S = 5.0
"""Time without waiting for the service after a failure, in seconds."""

ENDED_RUNS_MAX = 1_000
"""Maximum number of ended runs that are kept, to report a run that occurs twice."""

KEY_CHARACTERS_MAX = 255


class AsyncSender(Protocol):
    """Part of ``AsyncObservationBuffer`` that an agent uses."""

    async def add(
        self, instance: AsyncInstanceHandle, observation: BatchObservationInput, /
    ) -> None:
        """Adds an observation; with a spool, returns when the observation is durable."""


class AsyncAgent:
    """An agent whose character is one instance.

    The agent gives each turn a prompt, permits tools by the newest contract, and observes each
    finished turn exactly once. Call ``begin`` before and ``end`` after a turn.

    Args:
        instance: Handle of the instance: ``client.instance(id)``.
        tools: Actions of the agent's tools; by default no tool is mapped.
        appraiser: Turns a finished turn into an observation; default ``rule_appraiser()``. If the
            appraiser fails or is too slow, the rules apply.
        wording: Texts of the prompt; default ``WORDING``.
        timeout_s: Deadline of each call of the service in a turn, in seconds. Also the maximum wait
            for the service in ``begin``, and in ``begin`` and end of a ``turn`` block together.
        appraiser_timeout_s: Deadline of the appraiser, in seconds.
        fresh_s: Age up to which a turn begins with the last contract, without a request.
        stale_s: Age up to which the last contract applies while the service is away.
        unavailable: Behavior without a contract, because the service is away.
        buffer: ``AsyncObservationBuffer`` that sends the observations instead of the agent. With a
            spool, an observation survives a crash of the process from the moment when ``end``
            returns. Batches cost fewer requests, but a turn that begins within ``delay_max_s``
            after another turn may use the contract before that turn. Close the buffer before the
            program ends.
        on_error: Called with each error that the agent survives: the service is away, or the
            appraiser fails. While the service is away, called only with the first failure until the
            next answer. Must not call the agent.

    Raises:
        ConfigurationError: ``tools`` is no ``ToolPolicy``, or ``unavailable`` has an unknown value.
    """

    def __init__(
        self,
        instance: AsyncInstanceHandle,
        *,
        tools: ToolPolicy | None = None,
        appraiser: AsyncAppraiser | None = None,
        wording: Wording | None = None,
        timeout_s: float = 2.0,
        appraiser_timeout_s: float = 10.0,
        fresh_s: float = 60.0,
        stale_s: float = 600.0,
        unavailable: Unavailable = "open",
        buffer: AsyncSender | None = None,
        on_error: Callable[[Exception], object] | None = None,
    ) -> None:
        if tools is not None and not isinstance(tools, ToolPolicy):
            raise ConfigurationError("tools must be a ToolPolicy: ToolPolicy({...})")
        if unavailable not in get_args(Unavailable):
            known = ", ".join(get_args(Unavailable))
            raise ConfigurationError(f"unavailable must be {known}, not {unavailable!r}")
        self.instance = instance
        """Handle of the instance."""
        self.tools = ToolPolicy() if tools is None else tools
        """Actions of the agent's tools."""
        self._appraiser = appraiser
        self._rules = rule_appraiser()
        self._wording = WORDING if wording is None else wording
        self._timeout_s = timeout_s
        self._appraiser_timeout_s = appraiser_timeout_s
        self._fresh_s = fresh_s
        self._stale_s = stale_s
        self._unavailable = unavailable
        self._buffer = buffer
        self._on_error = on_error
        self._guard = instance.guard()
        self._ends = _Ends()
        self._outage = _Outage()
        # Only one end at a time changes the next two fields.
        self._next_ms = 0
        self._is_read_only = False

    def turn(
        self, run_id: str, turn: int | str | None = None, input: str | None = None
    ) -> AsyncTurnBlock:
        """Begins a turn, and ends the turn exactly once at the end of an ``async with`` block.

        The turn is completed, or ``outcome_of`` classifies the error, which passes unchanged. Begin
        and end together wait at most ``timeout_s`` for the service; the observation continues after
        that. The block may end the turn itself to supply an output. For parameters and errors, see
        ``begin``.
        """
        return AsyncTurnBlock(partial(self.begin, run_id, turn, input), self)

    async def flush(self) -> None:
        """Waits until the observations of all ended turns are sent, in the buffer, or given up."""
        last = self._ends.last
        if last is not None:
            await last.wait()

    async def begin(
        self, run_id: str, turn: int | str | None = None, input: str | None = None
    ) -> AsyncAgentTurn:
        """Begins a turn with the newest contract.

        Sends no request if the contract of the last answer is fresh. If the service is away, uses
        the last contract, then follows ``unavailable``. Waits at most ``timeout_s``, also for the
        observations of earlier turns. After a failure, further turns request nothing and wait for
        nothing for 5 s.

        Args:
            run_id: Id of the agent's run, or of the conversation.
            turn: Turn in the run. The same run and turn count once, also after a crash. Without a
                turn, the whole run counts once.
            input: The user's input, for the appraiser. Never sent.

        Raises:
            ConfigurationError: ``run_id`` and ``turn`` make no valid idempotency key.
            ApiError: The key or the instance is invalid, or the service is away and
                ``unavailable`` is ``raise``.
        """
        key = _key_of(run_id, turn)
        until_s = time.monotonic() + self._timeout_s
        if self._ends.waiting > 0 and self._outage.resting is None:
            # The other half of the time is for the contract, also if an appraiser is slow.
            await wait_at_most(self._timeout_s / 2, self.flush)
        contract = await self._usable_contract(until_s)
        run = run_id if turn is None else None
        return AsyncAgentTurn(self, key, run, contract, input)

    async def _usable_contract(self, until_s: float) -> Contract | None:
        if self._age_s() <= self._fresh_s:
            return self._guard.contract
        failure, is_first = self._outage.resting, False
        if failure is None:
            failure = await self._refresh(max(until_s - time.monotonic(), 0.001))
            is_first = failure is not None and self._outage.begin(failure)
        if failure is None:
            return self._guard.contract
        is_usable = self._age_s() <= self._stale_s
        if not is_usable and self._unavailable == "raise":
            # The same error can be raised often, and each raise would lengthen its traceback.
            raise failure.with_traceback(None)
        if is_first:
            self._report(failure)
        return self._guard.contract if is_usable else None

    async def _refresh(self, timeout_s: float) -> IdentityEngineError | None:
        """Requests the contract. Returns the failure of a service that is away."""
        try:
            await self.instance.contract(timeout_s=timeout_s)
        except IdentityEngineError as error:
            if _is_fatal(error):
                raise
            return error
        self._outage.end()
        return None

    def _age_s(self) -> float:
        age_s = self._guard.age_s
        return math.inf if age_s is None else age_s

    async def _end(self, turn: Turn, key: str, run: str | None) -> None:
        """Observes a turn. Sends one observation after the other, in the order of the ends.

        ``run`` is the id of a run whose turns have no number.
        """
        if run is not None and self._ends.has_run(run):
            text = f"two turns have the run_id {run}, so only the first counts: pass turn too"
            self._report(IdentityEngineError(text))
        ended = Event()
        with self._ends.lock:
            is_full = self._ends.waiting >= WAITING_MAX
            if not is_full:
                before, self._ends.last = self._ends.last, ended
                self._ends.waiting += 1
        if is_full:
            self._report(
                IdentityEngineError(f"{WAITING_MAX} observations are waiting; turn dropped")
            )
            return
        try:
            set_point = await self._known_set_point()
            appraisal = await self._appraised(replace(turn, set_point=set_point))
            if before is not None:
                await before.wait()
            if appraisal is not None and not self._is_read_only:
                await self._hand_over(appraisal, key)
        except Exception as error:
            self._survive(error)
        finally:
            with self._ends.lock:
                self._ends.waiting -= 1
            ended.set()

    async def _known_set_point(self) -> ModeStrengths | None:
        """Set-point of the instance, read once: it moves by less than 0.03 in 200 turns."""
        ends = self._ends
        with ends.lock:
            if ends.set_point is None:
                ends.set_point = Once(self._read_set_point)
            reading = ends.set_point
        try:
            return await reading.result()
        except Exception as error:
            with ends.lock:
                if ends.set_point is reading:
                    ends.set_point = None
            self._survive(error)
            return None

    async def _read_set_point(self) -> ModeStrengths:
        result = await self.instance.snapshot(timeout_s=self._timeout_s)
        set_point = result.data.set_point
        return result.data.mode_strengths if set_point is None else set_point

    async def _appraised(self, turn: Turn) -> Appraisal | None:
        if self._appraiser is None:
            return self._rules(turn)
        try:
            appraisal = await within(self._appraiser_timeout_s, self._appraiser, turn)
            return None if appraisal is None else checked_appraisal(appraisal)
        except Exception as error:
            self._report(error)
            return self._rules(turn)

    async def _hand_over(self, appraisal: Appraisal, key: str) -> None:
        if self._buffer is None:
            await self._observe(appraisal, key)
            return
        try:
            observation: BatchObservationInput = {**asdict(appraisal), "idempotency_key": key}
            await self._buffer.add(self.instance, observation)
        except Exception as error:
            # Errors of the buffer are no outage of the service.
            self._report(error)

    async def _observe(self, appraisal: Appraisal, key: str) -> None:
        """Sends an observation. Timestamps are at least a second apart, so quick turns count."""
        for attempt in range(1, THROTTLED_MAX + 1):
            # Many quick turns run ahead of the clock, at most until the maximum lead.
            early_ms = self._next_ms - AHEAD_MS_MAX - _now_ms()
            if early_ms > 0:
                await sleep(early_ms / 1_000)
            at_ms = max(_now_ms(), self._next_ms)
            # Also after a lost answer: the observation may have been applied.
            self._next_ms = at_ms + INTERVAL_MS
            try:
                result = await self.instance.process(
                    {**asdict(appraisal), "timestamp": time_text(at_ms)},
                    idempotency_key=key,
                    timeout_s=self._timeout_s,
                )
            except ApiError as error:
                if error.reason == "idempotency_key_reused":
                    # An earlier attempt of this turn, perhaps in another process, was counted.
                    return
                self._is_read_only = self._is_read_only or error.reason == "missing_scope"
                raise
            self._outage.end()
            throttled = result.throttled
            if throttled is None:
                return
            # Another process observes the same instance: choose another second at random.
            spread_ms = random.random() * (attempt - 1) * INTERVAL_MS
            self._next_ms = at_ms + math.ceil(throttled.retry_after_s * 1_000 + spread_ms)
        # The service answered, so this error is no failure of the service.
        self._report(IdentityEngineError(f"the observation was throttled {THROTTLED_MAX} times"))

    def _survive(self, error: Exception) -> None:
        """Notes a failure of the service, which is reported only once until the next answer."""
        if (
            not isinstance(error, IdentityEngineError)
            or _is_fatal(error)
            or self._outage.begin(error)
        ):
            self._report(error)

    def _report(self, error: Exception) -> None:
        if self._on_error is not None:
            # A broken callback must not end the agent's turn.
            with contextlib.suppress(Exception):
                self._on_error(error)


class AsyncAgentTurn:
    """One turn of an agent. Created by ``begin``."""

    def __init__(
        self,
        agent: AsyncAgent,
        key: str,
        run: str | None,
        contract: Contract | None,
        input: str | None,
    ) -> None:
        self._agent = agent
        self._key = key
        self._run = run
        self._begun_with = contract
        self._input = input
        self._tools: list[ToolUse] = []
        self._lock = Lock()
        self._end: Once[None] | None = None

    @property
    def contract(self) -> Contract | None:
        """The newest contract, which another turn may have received meanwhile.

        None if the service is away and no usable contract is known.
        """
        return None if self._begun_with is None else self._agent._guard.contract

    @property
    def prompt(self) -> str:
        """Text for the end of the model's instructions; empty without a contract."""
        contract = self.contract
        return "" if contract is None else contract_prompt(contract, self._agent._wording)

    def offered(self, tools: Iterable[str]) -> list[str]:
        """Returns the tools that the model may see, in the given order.

        In mode ``hide``, only permitted tools.
        """
        is_hiding = self._agent.tools.mode == "hide"
        return [tool for tool in tools if not is_hiding or self.permits(tool)]

    def permits(self, tool: str) -> bool:
        """Whether a tool may run now. Notes nothing. For tools whose calls nobody can refuse."""
        return self._reason_against(tool) is None

    def refusal_of(self, tool: str) -> str | None:
        """Returns the sentence that answers a call instead of running the tool.

        None if the tool may run. Notes the refusal.
        """
        refusal = self._reason_against(tool)
        if refusal is not None:
            self.used(tool, "refused")
        return refusal

    def _reason_against(self, tool: str) -> str | None:
        policy = self._agent.tools
        is_closed = self._begun_with is None and self._agent._unavailable == "closed"
        if is_closed and policy.mode != "observe" and policy.actions_of(tool):
            return self._agent._wording["unknown"].replace("{tool}", tool, 1)
        return policy.refusal_of(tool, self.contract)

    def used(self, tool: str, outcome: ToolOutcome) -> None:
        """Notes the outcome of a tool call that ran."""
        self._tools.append(ToolUse(tool, outcome, self._agent.tools.actions_of(tool)))

    async def end(self, outcome: TurnOutcome = "completed", output: str | None = None) -> None:
        """Ends the turn and observes it.

        Further calls wait for the first call and change nothing, so a turn counts once. Never
        raises: errors go to ``on_error``.

        Args:
            outcome: End of the turn.
            output: The agent's output, for the appraiser. Never sent.
        """
        with self._lock:
            if self._end is None:
                turn = Turn(
                    outcome,
                    tuple(self._tools),
                    contract=self._begun_with,
                    set_point=None,
                    input=self._input,
                    output=output,
                )
                self._end = Once(partial(self._agent._end, turn, self._key, self._run))
            end = self._end
        await end.result()


class AsyncTurnBlock:
    """An ``async with`` block around one turn. Created by ``turn``."""

    def __init__(self, begin: Callable[[], Awaitable[AsyncAgentTurn]], agent: AsyncAgent) -> None:
        self._begin = begin
        self._agent = agent
        self._left_s = 0.0
        self._turn: AsyncAgentTurn | None = None

    async def __aenter__(self) -> AsyncAgentTurn:
        until_s = time.monotonic() + self._agent._timeout_s
        self._turn = await self._begin()
        self._left_s = max(until_s - time.monotonic(), 0.0)
        return self._turn

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._turn is not None:
            outcome: TurnOutcome = "completed" if exc is None else outcome_of(exc)
            left_s = self._left_s if self._agent._outage.resting is None else 0.0
            await wait_at_most(left_s, partial(self._turn.end, outcome))


class _Ends(ForkAware):
    """Ends of turns in progress. A forked process does not wait for the ends of its parent."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.last: Event | None = None
        """Set when the newest end is sent or given up. The next end waits for this event."""
        self.waiting = 0
        """Number of ends in progress."""
        self.set_point: Once[ModeStrengths] | None = None
        """Read of the set-point; None before the first read and after a failed read."""
        self._runs: dict[str, None] = {}
        on_fork(self)

    def has_run(self, run: str) -> bool:
        """Whether the run is among the newest ended runs. Adds the run."""
        with self.lock:
            if run in self._runs:
                return True
            self._runs[run] = None
            if len(self._runs) > ENDED_RUNS_MAX:
                del self._runs[next(iter(self._runs))]
            return False

    def begin_again(self) -> None:
        """Forgets the ends of the parent."""
        self.last = None
        self.waiting = 0
        self.set_point = None


class _Outage:
    """Failure of the service. For ``REST_S`` after each failure, turns wait for nothing."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._failure: IdentityEngineError | None = None
        self._until_s = -math.inf

    @property
    def resting(self) -> IdentityEngineError | None:
        """The last failure while turns wait for nothing; otherwise None."""
        with self._lock:
            return self._failure if time.monotonic() < self._until_s else None

    def begin(self, failure: IdentityEngineError) -> bool:
        """Notes a failure. Returns whether this is the first failure since the last answer."""
        with self._lock:
            is_first = self._failure is None
            self._failure, self._until_s = failure, time.monotonic() + REST_S
            return is_first

    def end(self) -> None:
        """Notes an answer."""
        with self._lock:
            self._failure = None


def _is_fatal(error: IdentityEngineError) -> bool:
    """Whether no later attempt helps: a wrong key, a missing instance, a wrong argument."""
    if isinstance(error, ApiError):
        return error.status < 500 and error.status not in (408, 429)
    return isinstance(error, (ConfigurationError, ClientClosedError))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _key_of(run_id: str, turn: int | str | None) -> str:
    """Idempotency key of a turn. Colons in ``run_id`` are escaped: no two turns share a key."""
    run = str(run_id).replace("%", "%25").replace(":", "%3A")
    key = f"turn:{run}" if turn is None else f"turn:{run}:{turn}"
    is_short = run_id != "" and len(key) <= KEY_CHARACTERS_MAX
    if is_short and re.fullmatch(r"[ -~]*[!-~]", key) is not None:
        return key
    raise ConfigurationError(
        f"run_id and turn must be 1 to {KEY_CHARACTERS_MAX - 6} printable ASCII characters, "
        "without a space at the end"
    )
