import {
  batchAnswer,
  createdAnswer,
  processedJson,
  removedAnswer,
  renamedAnswer,
  resetAnswer,
  singleAnswer,
} from '#engine/instance-answers';
import type { InstanceChange, InstanceEvent, TimedObservation } from '#engine/instance-event';
import {
  addAnswer,
  addDrift,
  addHistory,
  bytesOfHead,
  bytesOfText,
  headOf,
  type InstanceState,
  leaveText,
  ownModelOf,
} from '#engine/instance-state';
import { affectedModesJson, deviationJson } from '#engine/report-json';
import type { StepTimer } from '#engine/step-timer';
import { advance } from '#identity/advance';
import { newReport, type Report, readReport } from '#identity/report';
import {
  createState,
  MODEL_VERSION,
  resetToDefault,
  resetToInitial,
  type State,
} from '#identity/state';
import type { InstanceHead, RecentCall } from '#storage/instance-store';
import type { EngineAnswer } from '#wire/engine-messages';

type Of<Kind extends InstanceChange['kind']> = Extract<InstanceChange, { kind: Kind }>;

/** Reused for every cycle of every instance: a turn never leaves it half read. */
const report = newReport();

const NO_CALLS: readonly RecentCall[] = [];

/** A vector for heads that have no identity any more. */
const NO_MODEL = new Float64Array(0);

/**
 * Changes an instance by a committed event and leaves the event's answer in `state.answer`.
 * Deterministic in (state, event, version): recovery runs it again and gets the same bytes.
 */
export function applyEvent(
  instanceId: string,
  state: InstanceState,
  event: InstanceEvent,
  version: number,
  steps: StepTimer,
): void {
  const answer = answerOf(instanceId, state, event, version, steps);
  state.answer = answer;
  const { answerKey, atMs } = event;
  if (answerKey === undefined) return;
  const { key, fingerprint } = answerKey;
  const { body, etag } = answer;
  addAnswer(state, { key, fingerprint, body: body.toString(), etag, atMs });
}

function answerOf(
  instanceId: string,
  state: InstanceState,
  event: InstanceEvent,
  version: number,
  steps: StepTimer,
): EngineAnswer {
  const { change, atMs } = event;
  switch (change.kind) {
    case 'created':
      state.head = created(change, atMs, version);
      state.textBytes = bytesOfHead(state.head);
      state.isModelShared = false;
      return createdAnswer(instanceId, state.head);
    case 'renamed': {
      const before = headOf(state);
      const { name = before.name, description = before.description } = change;
      if (description !== before.description) leaveText(state, bytesOfText(before.description));
      state.head = { ...before, version, updatedAtMs: atMs, name, description };
      state.textBytes = bytesOfHead(state.head);
      return renamedAnswer(instanceId, state.head);
    }
    case 'removed':
      remove(state, atMs, version);
      return removedAnswer(instanceId);
    case 'observed':
      return observe(instanceId, state, change, atMs, version, steps);
    case 'reset':
      reset(state, change, atMs, version);
      return resetAnswer(instanceId, headOf(state), change.mode);
  }
}

function created(change: Of<'created'>, atMs: number, version: number): InstanceHead {
  const { accountId, name, description, modeStrengths, energyLevel } = change;
  return {
    version,
    accountId,
    name,
    description,
    createdAtMs: atMs,
    updatedAtMs: atMs,
    deletedAtMs: undefined,
    originMs: atMs,
    observedAtMs: undefined,
    generation: 1,
    historyCount: 0,
    historyStart: 0,
    driftCount: 0,
    driftStart: 0,
    modelVersion: MODEL_VERSION,
    model: createState({ modeStrengths, energyLevel }),
    recentCalls: NO_CALLS,
  };
}

/** What stays is the marker: whose it was, and since when it is gone (architecture 3.2). */
function remove(state: InstanceState, atMs: number, version: number): void {
  const gone = { name: '', description: '', model: NO_MODEL };
  state.head = { ...headOf(state), ...gone, version, updatedAtMs: atMs, deletedAtMs: atMs };
  state.textBytes = 0;
  state.unstored = undefined;
  leaveText(state, Number.POSITIVE_INFINITY);
}

/** A new generation that starts now, with no observation to keep a distance from (decision 34). */
function reset(state: InstanceState, change: Of<'reset'>, atMs: number, version: number): void {
  const head = headOf(state);
  const model = change.mode === 'initial' ? resetToInitial(head.model) : resetToDefault(head.model);
  state.head = {
    ...head,
    version,
    updatedAtMs: atMs,
    originMs: atMs,
    observedAtMs: undefined,
    generation: head.generation + 1,
    historyStart: head.historyCount,
    driftStart: head.driftCount,
    model,
  };
  state.isModelShared = false;
}

function observe(
  instanceId: string,
  state: InstanceState,
  { observations, isBatch, isEveryStateWanted }: Of<'observed'>,
  atMs: number,
  version: number,
  steps: StepTimer,
): EngineAnswer {
  const head = headOf(state);
  const model = ownModelOf(state);
  const states: string[] = [];
  let { observedAtMs, historyCount, driftCount } = head;
  for (const observation of observations) {
    const { timestampMs } = observation;
    const startedMs = steps.start();
    advance(model, observation, (timestampMs - (observedAtMs ?? head.originMs)) / 1_000, model);
    readReport(model, report);
    steps.stop(startedMs);
    observedAtMs = timestampMs;
    historyCount += 1;
    record(state, observation, historyCount, head.generation);
    if (report.deviation.level > 0) {
      driftCount += 1;
      recordDrift(state, report, timestampMs, driftCount, head.generation);
    }
    if (isEveryStateWanted) states.push(processedJson(instanceId, report));
  }
  state.head = afterObservations(head, model, version, atMs, {
    observedAtMs,
    historyCount,
    driftCount,
  });
  state.isModelShared = false;
  if (!isBatch) return singleAnswer(instanceId, report, version);
  const last = isEveryStateWanted ? states : processedJson(instanceId, report);
  return batchAnswer(instanceId, last, observations.length, version);
}

/** The next head. Written out: on this path a spread costs more than the model's step. */
function afterObservations(
  head: InstanceHead,
  model: State,
  version: number,
  atMs: number,
  after: Pick<InstanceHead, 'observedAtMs' | 'historyCount' | 'driftCount'>,
): InstanceHead {
  return {
    version,
    accountId: head.accountId,
    name: head.name,
    description: head.description,
    createdAtMs: head.createdAtMs,
    updatedAtMs: atMs,
    deletedAtMs: head.deletedAtMs,
    originMs: head.originMs,
    observedAtMs: after.observedAtMs,
    generation: head.generation,
    historyCount: after.historyCount,
    historyStart: head.historyStart,
    driftCount: after.driftCount,
    driftStart: head.driftStart,
    modelVersion: head.modelVersion,
    model,
    // What was remembered is the runtime's now; the next checkpoint stores it anew.
    recentCalls: NO_CALLS,
  };
}

function record(
  state: InstanceState,
  observation: TimedObservation,
  ordinal: number,
  generation: number,
): void {
  const { mode, signal, confidence, contextJson, timestampMs } = observation;
  addHistory(state, {
    ordinal,
    generation,
    cycle: report.snapshot.cycle,
    mode,
    signal,
    confidence,
    contextJson,
    timestampMs,
  });
}

function recordDrift(
  state: InstanceState,
  found: Report,
  timestampMs: number,
  ordinal: number,
  generation: number,
): void {
  addDrift(state, {
    ordinal,
    generation,
    cycle: found.snapshot.cycle,
    level: `D${found.deviation.level}`,
    deviationJson: deviationJson(found),
    affectedModesJson: affectedModesJson(found),
    isRolledBack: found.deviation.isRolledBack,
    timestampMs,
  });
}
