import type { Applied } from '#actor-runtime/event-sourcing';
import {
  batchAnswer,
  createdAnswer,
  forkedAnswer,
  removedAnswer,
  renamedAnswer,
  resetAnswer,
  singleAnswer,
  trimmedAnswer,
} from '#engine/instance/answers';
import {
  type AnswerKey,
  type InstanceChange,
  type InstanceEvent,
  isOfTags,
  isSingle,
  type KeyedItems,
  type TimedObservation,
} from '#engine/instance/event';
import { etagOf, isRebuildable, keptMark, marked } from '#engine/instance/keyed-answers';
import {
  afterText,
  bytesOfHeadText,
  bytesOfText,
  headOf,
  type InstanceState,
  type ModelPorts,
  modelOf,
  takenOver,
  UnstoredRows,
} from '#engine/instance/state';
import { affectedModesJson, deviationJson, reportJson } from '#engine/json';
import type { EngineAnswer } from '#grpc/engine-messages';
import type { Model } from '#identity/model';
import { newReport } from '#identity/report';
import { at, OFFSET } from '#identity/state';
import {
  addTransitions,
  type Flags,
  flagsOf,
  isNoted,
  lifecycleTransition,
  type Transition,
} from '#identity/transitions';
import {
  type DriftRow,
  type HistoryRow,
  headTags,
  type InstanceHead,
  NO_ROWS,
  NO_ROWS_TRIMMED,
  packedState,
  trimmedOf,
  unpackedHead,
  unpackedState,
} from '#storage/ports/instances';
import { STATE_SPACING, type StateCause, type StateRow } from '#storage/ports/states';

type Of<Kind extends InstanceChange['kind']> = Extract<InstanceChange, { kind: Kind }>;

/**
 * Report object that every cycle of every instance reuses. A turn reads the report before the next
 * cycle. After a brief report within the band, only the level of the deviation is of this cycle.
 */
const report = newReport();

/** Model vector for a deleted instance. */
const NO_MODEL = new Float64Array(0);

/** An event's result: the instance's next state, and the command's answer. */
export type InstanceApplied = Applied<InstanceState, EngineAnswer>;

/**
 * Applies a committed event. Deterministic in (state, event, version): recovery applies the event
 * again and gets the same bytes. Consumes `state`: the next state reuses the model and rows.
 */
export function applyEvent(
  instanceId: string,
  state: InstanceState,
  event: InstanceEvent,
  version: number,
  ports: ModelPorts,
): InstanceApplied {
  const changed = applyChange(instanceId, unpacked(state), event, version, ports);
  const { answer, transitions } = changed;
  const { answerKey, atMs } = event;
  const next = transitions !== undefined && isNoted(transitions) ? noted(changed, atMs) : changed;
  const kept =
    answerKey === undefined ? next.state : withKeyedAnswer(next.state, event, answer, answerKey);
  if (transitions === undefined || transitions.length === 0) return { state: kept, answer };
  const bytes = transitions.length * TRANSITION_BYTES;
  const notice = { to: headOf(kept).accountId, atMs, body: transitions, bytes };
  return { state: kept, answer, notice };
}

/** A state whose model is an array that no other state has. */
type UnpackedState = InstanceState<InstanceHead>;

function unpacked(state: InstanceState): UnpackedState {
  const { head } = state;
  if (typeof head?.model !== 'string') return state as UnpackedState;
  return { ...state, head: unpackedHead(head) };
}

/** Estimated bytes of a transition in memory. */
const TRANSITION_BYTES = 90;

/** Result of a change, with its transitions. Undefined: the change has no transitions. */
type Changed = Applied<UnpackedState, EngineAnswer> & {
  readonly transitions?: readonly Transition[];
};

function applyChange(
  instanceId: string,
  state: UnpackedState,
  { change, atMs, modelVersion }: InstanceEvent,
  version: number,
  ports: ModelPorts,
): Changed {
  switch (change.kind) {
    case 'created': {
      const model = modelOf(ports.models, modelVersion, instanceId);
      const head = created(change, model, atMs, version);
      const flags = flagsIn(head, model);
      return {
        state: { ...state, head, textBytes: bytesOfHeadText(head), flags },
        answer: createdAnswer(instanceId, head),
        transitions: [lifecycleTransition('created', 0, flags, flags)],
      };
    }
    case 'forked': {
      const head = forked(change, modelVersion, atMs, version);
      const { unstored = new UnstoredRows() } = state;
      unstored.addState(stateRowOf(head, change.start.cycle, 'forked'));
      const flags = flagsIn(head, modelOf(ports.models, modelVersion, instanceId));
      const textBytes = bytesOfHeadText(head);
      return {
        state: { ...state, head, textBytes, unstored, flags },
        answer: forkedAnswer(instanceId, head, change.start),
        transitions: [lifecycleTransition('created', change.start.cycle, flags, flags)],
      };
    }
    case 'renamed':
      return renamed(instanceId, state, change, { atMs, version }, ports);
    case 'removed': {
      const { cycle, flags } = present(instanceId, state, ports);
      return {
        state: { ...removed(state, atMs, version), flags },
        answer: removedAnswer(instanceId),
        transitions: [lifecycleTransition('deleted', cycle, flags, flags)],
      };
    }
    case 'observed':
      return observe(instanceId, state, change, { modelVersion, atMs, version }, ports);
    case 'reset': {
      const before = present(instanceId, state, ports).flags;
      const model = modelOf(ports.models, headOf(state).modelVersion, instanceId);
      const head = reset(headOf(state), change, model, atMs, version);
      const { unstored = new UnstoredRows() } = state;
      unstored.addState(stateRowOf(head, 0, change.mode));
      const flags = flagsIn(head, model);
      const transitions: Transition[] = [lifecycleTransition('reset', 0, flags, before)];
      addTransitions(transitions, 0, flags, before, false);
      return {
        state: { ...state, head, unstored, flags },
        answer: resetAnswer(instanceId, head, change.mode, ports.models),
        transitions,
      };
    }
    case 'trimmed':
      return { state: trimmed(state, change, version), answer: trimmedAnswer(change.floor) };
  }
}

/** Notes the time of the newest transition in the head. A head without the time was just created. */
function noted({ state, answer }: Changed, atMs: number): Changed {
  const head = headOf(state);
  if (head.deletedAtMs !== undefined || head.createdAtMs === atMs) return { state, answer };
  return { state: { ...state, head: { ...head, changedAtMs: atMs } }, answer };
}

/** Flags of a head. Overwrites `report`. */
function flagsIn({ model }: InstanceHead, { readReport }: Model): Flags {
  readReport(model, report);
  return flagsOf(report);
}

/** Present cycle and flags of an instance. May overwrite `report`. */
function present(instanceId: string, state: UnpackedState, { models }: ModelPorts) {
  const head = headOf(state);
  const flags = state.flags ?? flagsIn(head, modelOf(models, head.modelVersion, instanceId));
  return { cycle: at(head.model, OFFSET.cycle), flags };
}

/**
 * Keeps the answer for retries with the same key: its position, if a replay can rebuild the answer,
 * otherwise its body.
 */
function withKeyedAnswer(
  state: UnpackedState,
  { change, atMs }: InstanceEvent,
  { body, etag }: EngineAnswer,
  { key, fingerprint }: AnswerKey,
): UnpackedState {
  const { unstored = new UnstoredRows() } = state;
  const head = headOf(state);
  if (isSingle(change) && isRebuildable(head)) {
    const { generation, version, model } = head;
    const position = { generation, cycle: at(model, OFFSET.cycle), version };
    unstored.addAnswer({ key, fingerprint, body: '', etag: '', atMs, position });
  } else {
    unstored.addAnswer({ key, fingerprint, body: body.toString(), etag, atMs });
  }
  return state.unstored === unstored ? state : { ...state, unstored };
}

function created(change: Of<'created'>, model: Model, atMs: number, version: number): InstanceHead {
  const { modeStrengths, energyLevel } = change;
  return {
    ...firstHead(change, atMs, version),
    modelVersion: model.version,
    model: model.create({ modeStrengths, energyLevel }),
  };
}

/** Head of a new instance without its model. */
function firstHead(
  { accountId, name, description, tagsJson }: Of<'created' | 'forked'>,
  atMs: number,
  version: number,
): Omit<InstanceHead, 'modelVersion' | 'model'> {
  return {
    version,
    accountId,
    name,
    description,
    ...headTags(tagsJson),
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
    newestHistory: NO_ROWS,
    newestDrift: NO_ROWS,
    recentCalls: [],
  };
}

/**
 * Head of a forked instance. The floor makes the fork's start known to replays, although no row is
 * trimmed.
 */
function forked(
  change: Of<'forked'>,
  modelVersion: string,
  atMs: number,
  version: number,
): InstanceHead {
  const { originMs, observedAtMs, cycle, state } = change.start;
  const model = unpackedState(state);
  const timestampMs = observedAtMs ?? originMs;
  const floor = { ...NO_ROWS_TRIMMED, generation: 1, cycle, timestampMs, state };
  return {
    ...firstHead(change, atMs, version),
    originMs,
    observedAtMs,
    floor,
    modelVersion,
    model,
  };
}

function renamed(
  instanceId: string,
  state: UnpackedState,
  change: Of<'renamed'>,
  { atMs, version }: { readonly atMs: number; readonly version: number },
  ports: ModelPorts,
): Changed {
  const { cycle, flags } = present(instanceId, state, ports);
  const { tagsJson: tagsBefore, ...before } = headOf(state);
  const { name = before.name, description = before.description, tagsJson = tagsBefore } = change;
  const texts = { name, description, ...headTags(tagsJson) };
  const head = { ...before, version, updatedAtMs: atMs, ...texts };
  const leavingBytes =
    leaving(before.description, description) + leaving(tagsBefore, texts.tagsJson);
  const recovery = afterText(state.recovery, leavingBytes);
  return {
    state: { ...state, head, textBytes: bytesOfHeadText(head), recovery, flags },
    answer: renamedAnswer(instanceId, head),
    // The log of the account has no tags, so a change of the tags alone is no transition.
    transitions: isOfTags(change) ? [] : [lifecycleTransition('renamed', cycle, flags, flags)],
  };
}

/** Memory of a replaced text, in bytes. */
function leaving(before: string | undefined, after: string | undefined): number {
  return before === undefined || before === after ? 0 : bytesOfText(before);
}

/** Leaves a tombstone with account and deletion time (architecture 3.2). */
function removed(state: UnpackedState, atMs: number, version: number): UnpackedState {
  const { floor: _, tagsJson: __, changedAtMs: ___, ...head } = headOf(state);
  const text = { name: '', description: '', model: NO_MODEL };
  const rows = {
    newestHistory: { after: head.historyCount, rows: '' },
    newestDrift: { after: head.driftCount, rows: '' },
  };
  return {
    ...state,
    head: { ...head, ...text, ...rows, version, updatedAtMs: atMs, deletedAtMs: atMs },
    textBytes: 0,
    unstored: undefined,
    recovery: afterText(state.recovery, Number.POSITIVE_INFINITY),
  };
}

/** Starts a new generation. The minimum interval does not apply to the next observation. */
function reset(
  head: InstanceHead,
  { mode }: Of<'reset'>,
  model: Model,
  atMs: number,
  version: number,
): InstanceHead {
  return {
    ...head,
    version,
    updatedAtMs: atMs,
    originMs: atMs,
    observedAtMs: undefined,
    generation: head.generation + 1,
    historyStart: head.historyCount,
    driftStart: head.driftCount,
    model: mode === 'initial' ? model.resetToInitial(head.model) : model.resetToDefault(head.model),
  };
}

/** Hides rows up to the floor immediately. The next checkpoint deletes these rows. */
function trimmed(state: UnpackedState, { floor }: Of<'trimmed'>, version: number): UnpackedState {
  const { unstored = new UnstoredRows() } = state;
  const head = headOf(state);
  unstored.trim(trimmedOf(head), floor);
  return { ...state, head: { ...head, version, floor }, unstored };
}

function observe(
  instanceId: string,
  state: UnpackedState,
  { observations, isBatch, isEveryStateWanted, isBrief, items }: Of<'observed'>,
  { modelVersion, atMs, version }: { modelVersion: string; atMs: number; version: number },
  ports: ModelPorts,
): Changed {
  const { models, steps } = ports;
  const head = headOf(state);
  let { flags } = present(instanceId, state, ports);
  const transitions: Transition[] = [];
  const { unstored = new UnstoredRows() } = state;
  const { advance, readReport } = modelOf(models, modelVersion, instanceId);
  const model =
    head.modelVersion === modelVersion
      ? head.model
      : takenOver(models, modelVersion, head, instanceId);
  const states: string[] = [];
  let { observedAtMs, historyCount, driftCount } = head;
  for (const observation of observations) {
    const { timestampMs } = observation;
    const startedMs = steps.start();
    advance(model, observation, (timestampMs - (observedAtMs ?? head.originMs)) / 1_000, model);
    readReport(model, report, isBrief);
    steps.stop(startedMs);
    observedAtMs = timestampMs;
    historyCount += 1;
    unstored.addHistory(historyRow(observation, historyCount, head.generation));
    if (report.deviation.level > 0) {
      driftCount += 1;
      unstored.addDrift(driftRow(timestampMs, driftCount, head.generation));
    }
    const after = flagsOf(report);
    addTransitions(transitions, report.snapshot.cycle, after, flags, true);
    flags = after;
    const cause = causeOf(historyCount, head, modelVersion);
    if (cause !== undefined) {
      const past = { ...head, observedAtMs, historyCount, modelVersion, model };
      unstored.addState(stateRowOf(past, report.snapshot.cycle, cause));
    }
    if (isEveryStateWanted) states.push(reportJson(instanceId, report));
  }
  // Copy the counts field by field, because only the first spread is fast.
  const next = {
    ...head,
    observedAtMs,
    historyCount,
    driftCount,
    version,
    updatedAtMs: atMs,
    modelVersion,
    model,
    recentCalls: items === undefined ? keptMark(head.recentCalls, atMs) : marked(version, atMs),
  };
  if (items !== undefined) addItemRows(unstored, items, etagOf(instanceId, version), atMs);
  return {
    state: { ...state, head: next, unstored, flags },
    transitions,
    answer: isBatch
      ? batchAnswer(
          instanceId,
          isEveryStateWanted ? states : reportJson(instanceId, report),
          observations.length,
          version,
          items?.statuses,
        )
      : singleAnswer(instanceId, report, version, isBrief),
  };
}

/**
 * Reason to store the state after an observation; undefined: none. `head` is the head before the
 * call, so a replay never crosses a change of the model without a stored state.
 */
function causeOf(
  ordinal: number,
  head: InstanceHead,
  modelVersion: string,
): 'spaced' | 'model' | undefined {
  if (head.modelVersion !== modelVersion && ordinal === head.historyCount + 1) return 'model';
  return ordinal % STATE_SPACING === 0 ? 'spaced' : undefined;
}

/** The present state of a head at its `cycle`, as a row of past states. */
export function stateRowOf(head: InstanceHead, cycle: number, cause: StateCause): StateRow {
  const { generation, historyCount: ordinal, originMs, observedAtMs, modelVersion, model } = head;
  const state = packedState(model);
  return { generation, cycle, cause, ordinal, originMs, observedAtMs, modelVersion, state };
}

/** Stores applied items' keys. The rows have no body: a replay answers with the present state. */
function addItemRows(
  unstored: UnstoredRows,
  { keys }: KeyedItems,
  etag: string,
  atMs: number,
): void {
  for (const one of keys) {
    if (one !== undefined) unstored.addAnswer({ ...one, body: '', etag, atMs });
  }
}

function historyRow(
  { mode, signal, confidence, contextJson, timestampMs }: TimedObservation,
  ordinal: number,
  generation: number,
): HistoryRow {
  const { cycle } = report.snapshot;
  return { ordinal, generation, cycle, mode, signal, confidence, contextJson, timestampMs };
}

function driftRow(timestampMs: number, ordinal: number, generation: number): DriftRow {
  const { snapshot, deviation } = report;
  return {
    ordinal,
    generation,
    cycle: snapshot.cycle,
    level: `D${deviation.level}`,
    deviationJson: deviationJson(report),
    affectedModesJson: affectedModesJson(report),
    isRolledBack: deviation.isRolledBack,
    timestampMs,
  };
}
