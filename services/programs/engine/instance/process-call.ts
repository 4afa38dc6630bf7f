import type { Turn } from '#actor-runtime/turn';
import { answerAgain, replayedItemsAnswer, throttledAnswer } from '#engine/instance/answers';
import { applyEvent, type InstanceApplied } from '#engine/instance/apply';
import type {
  InstanceChange,
  InstanceEvent,
  KeyedItems,
  TimedObservation,
} from '#engine/instance/event';
import {
  assertFreshOrder,
  etagOf,
  findItemRows,
  type ItemStatus,
  nothingToReplay,
  type SortedItems,
  sortItems,
  throttledOf,
} from '#engine/instance/keyed-answers';
import {
  headOf,
  type InstanceState,
  instanceFrom,
  type ModelPorts,
  presentOf,
  StepTimer,
  type Timing,
  timingOf,
} from '#engine/instance/state';
import { faultFor, invalid } from '#errors/fault';
import type {
  EngineAnswer,
  EngineCall,
  EngineCommand,
  ObservationInput,
} from '#grpc/engine-messages';
import { CYCLE_INTERVAL_MS_MIN, type Models, nextVersion } from '#identity/model';
import type { Clock, Instant } from '#stdlib/clock';
import type { DriftRow, InstanceStore } from '#storage/ports/instances';
import type { Metrics } from '#telemetry/metrics';

type Process = Extract<EngineCommand, { kind: 'process' }>;
type AnyTurn = Turn<never>;

/** Dependencies for processing a call. */
export type Processing<SomeTurn> = {
  readonly model: ModelPorts;
  readonly store: Pick<InstanceStore, 'findAnswers'>;
  readonly metrics: EngineMetrics;
  /** Commits a change under the model `modelVersion`. */
  readonly commit: (
    call: EngineCall,
    turn: SomeTurn,
    change: InstanceChange,
    modelVersion: string,
  ) => InstanceApplied;
};

/** Answer shape for a single call. */
const SINGLE = { isBatch: false, isEveryStateWanted: false } as const;

/** Whether any batch item has an idempotency key. */
export function hasItemKeys(command: EngineCommand): boolean {
  return command.kind === 'process' && command.itemKeys !== undefined;
}

/**
 * Processes an observation or a batch. In a batch with item keys, applies only items with new keys
 * (decision 280). Throws `invalid_request` for an invalid item, and then applies nothing.
 */
export function processed<SomeTurn extends AnyTurn>(
  state: InstanceState,
  call: EngineCall,
  command: Process,
  turn: SomeTurn,
  ports: Processing<SomeTurn>,
): EngineAnswer | Promise<EngineAnswer> {
  if (command.itemKeys === undefined) return applied(state, call, command, turn, ports);
  return processedItems(state, call, command, turn, ports);
}

/**
 * Answer to a single call whose observation was already applied, if no answer of that time is
 * available: the present state.
 */
export function replayedItem(
  state: Pick<InstanceState, 'head'>,
  { instanceId }: Pick<EngineCall, 'instanceId'>,
  models: Models,
): EngineAnswer {
  return replayedItemsAnswer(instanceId, headOf(state), SINGLE, models);
}

async function processedItems<SomeTurn extends AnyTurn>(
  state: InstanceState,
  call: EngineCall,
  command: Process,
  turn: SomeTurn,
  ports: Processing<SomeTurn>,
): Promise<EngineAnswer> {
  const { models } = ports.model;
  const rows = await findItemRows(call, command, state, turn.wallMs, ports.store);
  const items = sortItems(call, command, rows, turn.earlierVersion);
  const { fresh, statuses } = items;
  const part = { ...command, observations: fresh };
  if (fresh.length === 0) {
    return replayedItemsAnswer(call.instanceId, headOf(state), part, models, statuses);
  }
  if (turn.earlierVersion !== undefined) {
    return answerToRepeated({ ...call, command: part }, state, turn, ports.model, statuses);
  }
  if (call.isReplayOnly) throw nothingToReplay();
  assertFreshOrder(items);
  return applied(state, call, part, turn, ports, items);
}

function applied<SomeTurn extends AnyTurn>(
  state: InstanceState,
  call: EngineCall,
  command: Process,
  turn: SomeTurn,
  ports: Processing<SomeTurn>,
  items?: SortedItems,
): EngineAnswer {
  const { model, metrics, commit } = ports;
  // The answer to a call with a key is stored for all its retries, which may be single calls.
  const isBrief = command.isBrief === true && call.idempotency === undefined;
  const observed = observedEvent(state, command, isBrief, turn, items);
  const head = headOf(state);
  if (observed.kind === 'throttled') {
    metrics.throttled();
    const { instanceId } = call;
    const statuses = items && throttledOf(items);
    const { retryAfterS } = observed;
    return throttledAnswer(instanceId, head, command, retryAfterS, model.models, statuses);
  }
  const { driftCount: driftBefore, modelVersion: present } = head;
  const version = nextVersion(model.models, present, call.modelVersion);
  const { state: next, answer } = commit(call, turn, observed, version);
  const driftEvents = headOf(next).driftCount - driftBefore;
  metrics.cycled(answer.cycles, next.unstored?.drift ?? [], driftEvents);
  return answer;
}

/** Simulation arguments. */
type Simulation = {
  readonly call: Pick<EngineCall, 'instanceId' | 'modelVersion'>;
  readonly command: Extract<EngineCommand, { kind: 'simulate' }>;
  /** Present time in Unix milliseconds. */
  readonly nowMs: number;
};

/**
 * Simulates observations on a copy and answers with the resulting states. The instance does not
 * change, and no cycle is charged.
 *
 * Observations without times are one second apart, starting when the instance accepts the next
 * observation. Observations with times follow the rules for batches. Throws `invalid_request` if
 * the first observation is too early.
 */
export function simulatedAnswer(
  state: InstanceState,
  { call: { instanceId, modelVersion }, command, nowMs }: Simulation,
  ports: ModelPorts,
): EngineAnswer {
  const head = headOf(state);
  const { observations } = command;
  const { observedAtMs } = head;
  const soonestMs = Math.max(nowMs, (observedAtMs ?? 0) + CYCLE_INTERVAL_MS_MIN);
  const timing = timingOf(observations[0]?.timestampMs ?? soonestMs, observations.length, {
    observedAtMs,
    nowMs,
    presentMs: nowMs,
  });
  if (timing.kind === 'throttled') {
    const text = 'less than 1.0 s after the previous observation';
    throw invalid('timestamp_order', 'observations[0].timestamp', text);
  }
  const timed = timedFrom(timing.firstMs, observations);
  const event: InstanceEvent = {
    modelVersion: nextVersion(ports.models, head.modelVersion, modelVersion),
    change: { kind: 'observed', observations: timed, isBatch: true, isEveryStateWanted: true },
    atMs: nowMs,
    answerKey: undefined,
  };
  // A state built from a head alone copies the model before the first cycle.
  const copy = instanceFrom(head);
  const { answer } = applyEvent(instanceId, copy, event, head.version, ports);
  return { ...answer, cycles: 0, etag: etagOf(instanceId, head.version) };
}

/**
 * Answer to a repeated call without an idempotency key. If the call was the last commit, uses the
 * present state; otherwise the records that this process has replayed. Throws `service_unavailable`
 * with unknown outcome if neither is available (decision 90).
 */
export function answerToRepeated(
  { command, instanceId }: EngineCall,
  state: InstanceState,
  { version, earlierVersion = 0 }: Pick<Turn<unknown>, 'version' | 'earlierVersion'>,
  ports: ModelPorts,
  statuses?: readonly ItemStatus[],
): EngineAnswer {
  const answer =
    (earlierVersion === version
      ? answerAgain(instanceId, headOf(state), command, ports.models, statuses)
      : undefined) ?? answerOfRecords(instanceId, state, earlierVersion, ports);
  if (answer !== undefined) return answer;
  throw faultFor(
    'outcome_unknown',
    'the call was committed, but its answer is lost; read the instance before you retry',
    { retryAfterS: 1, isOutcomeUnknown: true },
  );
}

function answerOfRecords(
  instanceId: string,
  { recovery }: InstanceState,
  version: number,
  ports: ModelPorts,
): EngineAnswer | undefined {
  if (recovery === undefined) return undefined;
  const { head, events } = recovery;
  const first = (head?.version ?? 0) + 1;
  if (version < first || version >= first + events.length) return undefined;
  let scratch = instanceFrom(head);
  let answer: EngineAnswer | undefined;
  for (const [index, event] of events.slice(0, version - first + 1).entries()) {
    ({ state: scratch, answer } = applyEvent(instanceId, scratch, event, first + index, ports));
  }
  return answer;
}

/** Engine metrics, with labels bound in advance. */
export type EngineMetrics = {
  throttled(): void;
  /** Timer that samples model steps. */
  readonly steps: StepTimer;
  /**
   * Counts `cycles` applied observations and their drift events: the last `driftEvents` rows in
   * `drift`.
   */
  cycled(cycles: number, drift: readonly DriftRow[], driftEvents: number): void;
};

/** Registers the engine's metrics at the process's registry. */
export function engineMetrics(metrics: Metrics, clock: Clock): EngineMetrics {
  const advances = metrics.histogram('identity_advance_seconds').labels({});
  const throttled = metrics.counter('identity_throttled_total');
  const cycles = metrics.counter('identity_cycles_total');
  const kept = cycles.labels({ result: 'kept' });
  const rolledBack = cycles.labels({ result: 'rolled_back' });
  const events = metrics.counter('identity_drift_events_total');
  const level = new Map(['D1', 'D2', 'D3'].map((name) => [name, events.labels({ level: name })]));
  return {
    throttled: () => throttled.inc(),
    steps: new StepTimer(clock, (seconds) => advances.observe(seconds)),
    cycled(count, drift, driftEvents) {
      let breaches = 0;
      for (let back = 1; back <= driftEvents; back += 1) {
        const row = drift.at(-back);
        if (row?.isRolledBack === true) breaches += 1;
        level.get(row?.level ?? '')?.inc();
      }
      if (breaches > 0) rolledBack.inc(breaches);
      if (count > breaches) kept.inc(count - breaches);
    },
  };
}

/** Decision on a process or batch call: the fields of its `observed` event, or throttled. */
type Observed =
  | {
      readonly kind: 'observed';
      readonly observations: readonly TimedObservation[];
      readonly isBatch: boolean;
      readonly isEveryStateWanted: boolean;
      readonly isBrief: boolean;
      readonly items?: KeyedItems;
    }
  | Extract<Timing, { kind: 'throttled' }>;

/**
 * Assigns times to a call's observations, by decisions 1 (throttling), 8 (own times) and 152 (no
 * step back). `items`: the batch items' keys and outcomes, if any item has a key.
 */
function observedEvent(
  state: InstanceState,
  command: Process,
  isBrief: boolean,
  now: Instant,
  items?: KeyedItems,
): Observed {
  const { observations, isBatch, isEveryStateWanted } = command;
  const timing = timingOf(observations[0]?.timestampMs, observations.length, {
    observedAtMs: headOf(state).observedAtMs,
    nowMs: now.wallMs,
    presentMs: anchoredPresent(state, now),
  });
  if (timing.kind === 'throttled') return timing;
  const timed = timedFrom(timing.firstMs, observations);
  const shape = { isBatch, isEveryStateWanted, isBrief };
  const observed = { kind: 'observed', observations: timed, ...shape } as const;
  if (items === undefined) return observed;
  const { keys, statuses } = items;
  return { ...observed, items: { keys, statuses } };
}

/** Observations with their own times, or one second apart from `firstMs` on (decision 8). */
function timedFrom(firstMs: number, observations: readonly ObservationInput[]): TimedObservation[] {
  return observations.map((observation, index) => {
    if (isTimed(observation)) return observation;
    return { ...observation, timestampMs: firstMs + index * CYCLE_INTERVAL_MS_MIN };
  });
}

function isTimed(observation: ObservationInput): observation is TimedObservation {
  return observation.timestampMs !== undefined;
}

/**
 * Returns the present time, and stores how far the wall clock is ahead. If another
 * process applied the last observation, assumes that at least one second has passed since the last
 * event.
 */
function anchoredPresent(state: InstanceState, now: Instant): number {
  const { clockLeadMs } = state;
  const wallMs =
    clockLeadMs === undefined ? firstPresent(state, now.wallMs) : presentOf(clockLeadMs, now);
  state.clockLeadMs = wallMs - now.monotonicMs;
  return wallMs;
}

function firstPresent(state: InstanceState, nowMs: number): number {
  const { observedAtMs, updatedAtMs } = headOf(state);
  const knownMs = observedAtMs === undefined ? nowMs : updatedAtMs + CYCLE_INTERVAL_MS_MIN;
  return Math.max(nowMs, knownMs);
}
