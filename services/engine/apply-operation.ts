import {
  batchAnswer,
  createdAnswer,
  processedJson,
  removedAnswer,
  renamedAnswer,
  resetAnswer,
  singleAnswer,
} from '#engine/instance-answers';
import type { InstanceOperation, TimedObservation } from '#engine/instance-operation';
import type { InstanceState } from '#engine/instance-state';
import { affectedModesJson, deviationJson } from '#engine/report-json';
import { advance } from '#identity/advance';
import { newReport, type Report, readReport } from '#identity/report';
import { createState, resetToDefault, resetToInitial } from '#identity/state';
import type { EngineAnswer } from '#wire/engine-messages';

type Of<Kind extends InstanceOperation['kind']> = Extract<InstanceOperation, { kind: Kind }>;

/** Reused for every cycle of every instance: a turn never leaves it half read. */
const report = newReport();

/**
 * Changes an instance by a committed operation and leaves the operation's answer in `state.answer`.
 * Deterministic in (state, operation, version): recovery runs it again and gets the same bytes.
 */
export function applyOperation(
  instanceId: string,
  state: InstanceState,
  operation: InstanceOperation,
  version: number,
): void {
  state.updatedAtMs = operation.atMs;
  const answer = answerOf(instanceId, state, operation, version);
  state.answer = answer;
  const { answerKey } = operation;
  if (answerKey === undefined) return;
  const { body, etag } = answer;
  state.answers.push({ ...answerKey, body: body.toString(), etag, atMs: operation.atMs });
}

function answerOf(
  instanceId: string,
  state: InstanceState,
  operation: InstanceOperation,
  version: number,
): EngineAnswer {
  switch (operation.kind) {
    case 'created':
      create(state, operation);
      return createdAnswer(instanceId, state, version);
    case 'renamed':
      state.name = operation.name ?? state.name;
      state.description = operation.description ?? state.description;
      return renamedAnswer(instanceId, state, version);
    case 'removed':
      remove(state, operation);
      return removedAnswer(instanceId);
    case 'observed':
      return observe(instanceId, state, operation, version);
    case 'reset':
      reset(state, operation);
      return resetAnswer(instanceId, state, operation.mode, version);
  }
}

function create(state: InstanceState, operation: Of<'created'>): void {
  const { accountId, name, description, modeStrengths, energyLevel, atMs } = operation;
  Object.assign(state, { isLive: true, deletedAtMs: undefined, accountId, name, description });
  state.createdAtMs = atMs;
  state.originMs = atMs;
  state.model = createState({ modeStrengths, energyLevel });
}

/** What stays is the marker: who it was, whose, and since when it is gone (architecture 3.2). */
function remove(state: InstanceState, operation: Of<'removed'>): void {
  state.isLive = false;
  state.deletedAtMs = operation.atMs;
  state.name = '';
  state.description = '';
  state.history = [];
  state.drift = [];
  state.answers = [];
}

/** A new generation that starts now, with no observation to keep a distance from (decision 34). */
function reset(state: InstanceState, operation: Of<'reset'>): void {
  state.model =
    operation.mode === 'initial' ? resetToInitial(state.model) : resetToDefault(state.model);
  state.generation += 1;
  state.historyStart = state.historyCount;
  state.driftStart = state.driftCount;
  state.originMs = operation.atMs;
  state.observedAtMs = undefined;
  state.acceptedMonotonicMs = undefined;
}

function observe(
  instanceId: string,
  state: InstanceState,
  operation: Of<'observed'>,
  version: number,
): EngineAnswer {
  const { observations, isBatch, isEveryStateWanted, monotonicMs } = operation;
  state.acceptedMonotonicMs = monotonicMs;
  const states: string[] = [];
  for (const observation of observations) {
    cycle(state, observation);
    if (isEveryStateWanted) states.push(processedJson(instanceId, report));
  }
  if (!isBatch) return singleAnswer(instanceId, report, version);
  const last = isEveryStateWanted ? states : processedJson(instanceId, report);
  return batchAnswer(instanceId, last, observations.length, version);
}

/** One observation: one step of the model, one history row, and a drift row unless within band. */
function cycle(state: InstanceState, observation: TimedObservation): void {
  const { mode, signal, confidence, contextJson, timestampMs } = observation;
  const dtSeconds = (timestampMs - (state.observedAtMs ?? state.originMs)) / 1_000;
  advance(state.model, observation, dtSeconds, state.model);
  readReport(state.model, report);
  state.observedAtMs = timestampMs;
  state.historyCount += 1;
  const place = {
    ordinal: state.historyCount,
    generation: state.generation,
    cycle: report.snapshot.cycle,
  };
  state.history.push({ ...place, mode, signal, confidence, contextJson, timestampMs });
  if (report.deviation.level > 0) recordDrift(state, report, timestampMs);
}

function recordDrift(state: InstanceState, found: Report, timestampMs: number): void {
  state.driftCount += 1;
  state.drift.push({
    ordinal: state.driftCount,
    generation: state.generation,
    cycle: found.snapshot.cycle,
    level: `D${found.deviation.level}`,
    deviationJson: deviationJson(found),
    affectedModesJson: affectedModesJson(found),
    isRolledBack: found.deviation.isRolledBack,
    timestampMs,
  });
}
