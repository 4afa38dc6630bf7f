import { etagOf, type ItemStatus } from '#engine/instance/keyed-answers';
import { modelOf } from '#engine/instance/state';
import { briefJson, contractJson, reportJson, snapshotJson } from '#engine/json';
import type { EngineAnswer, EngineCommand, ForkStart } from '#grpc/engine-messages';
import type { Models } from '#identity/model';
import { MODE_KEYS } from '#identity/modes';
import { newReport, type Report } from '#identity/report';
import { STRESS_STATES } from '#identity/state';
import { isoTime } from '#stdlib/clock';
import { type HeldHead, NO_TAGS, type RowCounts, trimmedOf } from '#storage/ports/instances';
import { unpackedModel } from '#storage/ports/packed-model';

/** Reused by every answer with the present state. Never used across turns. */
const present = newReport();

/**
 * Report of a model state and its last cycle. Valid until the next call. Throws `CorruptState` if
 * this program lacks the model.
 */
export function reportOf(
  instanceId: string,
  { modelVersion, model }: Pick<HeldHead, 'modelVersion' | 'model'>,
  models: Models,
): Report {
  modelOf(models, modelVersion, instanceId).readReport(unpackedModel(model), present);
  return present;
}

/** Rounds a model number to six decimals, as in answers (model, notation). */
export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** Answer to a processed observation. A brief answer has no ETag. */
export function singleAnswer(
  instanceId: string,
  report: Report,
  version: number,
  isBrief = false,
): EngineAnswer {
  if (isBrief) {
    const body = briefJson(report);
    return { body, etag: '', cycles: 1, throttledRetryAfterS: 0, isReplayed: false };
  }
  return answerOf(reportJson(instanceId, report), etagOf(instanceId, version), 1);
}

/**
 * Repeats the answer to a processed observation from the state after the observation. `version` is
 * the version of the instance at that time.
 */
export function rebuiltAnswer(
  instanceId: string,
  state: Pick<HeldHead, 'modelVersion' | 'model'>,
  version: number,
  models: Models,
): EngineAnswer {
  const answer = singleAnswer(instanceId, reportOf(instanceId, state, models), version);
  return { ...answer, cycles: 0, isReplayed: true };
}

/**
 * Answer to a processed batch: all states, or the last state as `reportJson` text. `statuses` has
 * one entry per item, if any item has a key.
 */
export function batchAnswer(
  instanceId: string,
  states: readonly string[] | string,
  count: number,
  version: number,
  statuses?: readonly ItemStatus[],
): EngineAnswer {
  const start =
    typeof states === 'string' ? `${states.slice(0, -1)},` : `{"states":[${states.join(',')}],`;
  const results = statuses === undefined ? '' : `,"results":[${resultsJson(statuses)}]`;
  const json = `${start}"processed_count":${count}${results}}`;
  return answerOf(json, etagOf(instanceId, version), count);
}

function resultsJson(statuses: readonly ItemStatus[]): string {
  return statuses.map((status, index) => `{"index":${index},"status":"${status}"}`).join(',');
}

/** Shape of an answer to observations. */
type Shape = Pick<
  Extract<EngineCommand, { kind: 'process' }>,
  'isBatch' | 'isEveryStateWanted' | 'isBrief'
>;

/**
 * Answer to a call whose observations had all been applied before: the present state. Changes
 * nothing (decision 280, keys for batch items).
 */
export function replayedItemsAnswer(
  instanceId: string,
  head: HeldHead,
  shape: Shape,
  models: Models,
  statuses?: readonly ItemStatus[],
): EngineAnswer {
  // Like a throttled call, this call changes nothing and returns the present state.
  return { ...throttledAnswer(instanceId, head, shape, 0, models, statuses), isReplayed: true };
}

/** Answer to an early observation: the present state. Changes nothing (decision 1). */
export function throttledAnswer(
  instanceId: string,
  head: HeldHead,
  shape: Shape,
  retryAfterS: number,
  models: Models,
  statuses?: readonly ItemStatus[],
): EngineAnswer {
  const report = reportOf(instanceId, head, models);
  if (!shape.isBatch) {
    const answer = singleAnswer(instanceId, report, head.version, shape.isBrief);
    return { ...answer, cycles: 0, throttledRetryAfterS: retryAfterS };
  }
  const states = shape.isEveryStateWanted ? [] : reportJson(instanceId, report);
  const answer = batchAnswer(instanceId, states, 0, head.version, statuses);
  return { ...answer, throttledRetryAfterS: retryAfterS };
}

/** Id, name, description and tags in an answer. */
function namedBy(id: string, { name, description, tagsJson = NO_TAGS }: HeldHead) {
  return { id, name, description, tags: JSON.parse(tagsJson) };
}

/** Answer to `POST /instances`. */
export function createdAnswer(id: string, head: HeldHead): EngineAnswer {
  const created_at = isoTime(head.createdAtMs);
  const updated_at = isoTime(head.updatedAtMs);
  return objectAnswer({ ...namedBy(id, head), created_at, updated_at }, etagOf(id, head.version));
}

/** Answer to `POST /instances/{id}/fork`. */
export function forkedAnswer(
  id: string,
  head: HeldHead,
  { parentId, generation, cycle }: Pick<ForkStart, 'parentId' | 'generation' | 'cycle'>,
): EngineAnswer {
  const created_at = isoTime(head.createdAtMs);
  const updated_at = isoTime(head.updatedAtMs);
  const forked_from = { instance_id: parentId, generation, cycle };
  const body = { ...namedBy(id, head), created_at, updated_at, forked_from };
  return objectAnswer(body, etagOf(id, head.version));
}

/** Answer to `PATCH /instances/{id}`. */
export function renamedAnswer(id: string, head: HeldHead): EngineAnswer {
  const updated_at = isoTime(head.updatedAtMs);
  return objectAnswer({ ...namedBy(id, head), updated_at }, etagOf(id, head.version));
}

/** Answer to `DELETE /instances/{id}`. */
export function removedAnswer(id: string): EngineAnswer {
  return objectAnswer({ id, deleted: true }, '');
}

/** Answer to `POST /instances/{id}/reset`. */
export function resetAnswer(
  id: string,
  head: HeldHead,
  mode: string,
  models: Models,
): EngineAnswer {
  const { cycle, energy, stressLevel } = reportOf(id, head, models).snapshot;
  const stress_state = STRESS_STATES[stressLevel];
  const vitals = { cycle, energy_level: rounded(energy), stress_state };
  return objectAnswer({ id, reset_to: mode, ...vitals }, etagOf(id, head.version));
}

/**
 * Answer to a trim, which only tools send: the number of trimmed rows, and whether this call
 * trimmed rows.
 */
export function trimmedAnswer({ history, drift }: RowCounts, is_new = true): EngineAnswer {
  return objectAnswer({ history, drift, is_new }, '');
}

/** Answer to `GET /instances/{id}`. */
export function instanceAnswer(id: string, head: HeldHead, models: Models): EngineAnswer {
  const { cycle, energy, stressLevel, stability } = reportOf(id, head, models).snapshot;
  const body = {
    ...namedBy(id, head),
    created_at: isoTime(head.createdAtMs),
    updated_at: isoTime(head.updatedAtMs),
    cycle_count: cycle,
    energy_level: rounded(energy),
    stress_state: STRESS_STATES[stressLevel],
    stability_index: rounded(stability),
    model_version: head.modelVersion,
  };
  return objectAnswer(body, etagOf(id, head.version));
}

/** Answer to `GET /instances/{id}/snapshot`: a snapshot with four more fields (interface 2.5). */
export function snapshotAnswer(id: string, head: HeldHead, models: Models): EngineAnswer {
  const report = reportOf(id, head, models);
  const more = {
    cycle_count: report.snapshot.cycle,
    created_at: isoTime(head.createdAtMs),
    updated_at: isoTime(head.updatedAtMs),
    set_point: byMode(referencePointsOf(id, head, models).setPoint),
  };
  const json = `${snapshotJson(id, report).slice(0, -1)},${JSON.stringify(more).slice(1)}`;
  return answerOf(json, etagOf(id, head.version), 0);
}

function referencePointsOf(
  id: string,
  { modelVersion, model }: Pick<HeldHead, 'modelVersion' | 'model'>,
  models: Models,
) {
  return modelOf(models, modelVersion, id).readReferencePoints(unpackedModel(model));
}

/** Answer to `GET /instances/{id}/contract`. */
export function contractAnswer(id: string, head: HeldHead, models: Models): EngineAnswer {
  return answerOf(contractJson(reportOf(id, head, models)), etagOf(id, head.version), 0);
}

/**
 * Present state in an event stream: report and reference points of all modes. Answers to
 * observations omit the reference points to save time.
 */
export function followedState(
  id: string,
  head: Pick<HeldHead, 'modelVersion' | 'model'>,
  models: Models,
): string {
  const report = reportJson(id, reportOf(id, head, models));
  const { setPoint, lastStable } = referencePointsOf(id, head, models);
  const references = { set_point: byMode(setPoint), last_stable: byMode(lastStable) };
  return `${report.slice(0, -1)},${JSON.stringify(references).slice(1)}`;
}

function byMode(strengths: readonly number[]): Record<string, number> {
  return Object.fromEntries(MODE_KEYS.map((key, mode) => [key, rounded(strengths[mode] ?? 0)]));
}

/**
 * Repeats a retried command's answer from the present state. Undefined if the answer contained
 * earlier states.
 */
export function answerAgain(
  id: string,
  head: HeldHead,
  command: EngineCommand,
  models: Models,
  statuses?: readonly ItemStatus[],
): EngineAnswer | undefined {
  switch (command.kind) {
    case 'create':
      return command.fork?.start === undefined
        ? createdAnswer(id, head)
        : forkedAnswer(id, head, command.fork.start);
    case 'rename':
      return renamedAnswer(id, head);
    case 'remove':
      return removedAnswer(id);
    case 'reset':
      return resetAnswer(id, head, command.mode, models);
    case 'trim':
      return trimmedAnswer(trimmedOf(head));
    case 'process': {
      const { observations, isBatch, isEveryStateWanted, isBrief } = command;
      const report = reportOf(id, head, models);
      if (!isBatch) return singleAnswer(id, report, head.version, isBrief);
      if (isEveryStateWanted && observations.length > 1) return undefined;
      const last = reportJson(id, report);
      const states = isEveryStateWanted ? [last] : last;
      return batchAnswer(id, states, observations.length, head.version, statuses);
    }
    case 'simulate':
    case 'readInstance':
    case 'readSnapshot':
    case 'readContract':
    case 'readHistory':
    case 'readDrift':
    case 'readEvents':
    case 'readStates':
    case 'readForkStart':
    case 'putListingRow':
    case 'removeListingRow':
    case 'reservePlace':
    case 'readSummaries':
    case 'readIndexed':
    case 'list':
    case 'readFleet':
    case 'recordTransitions':
    case 'readFeed':
    case 'webhook':
      throw new Error(`${command.kind} commits nothing, so no answer can be repeated`);
  }
}

function objectAnswer(data: object, etag: string): EngineAnswer {
  return answerOf(JSON.stringify(data), etag, 0);
}

function answerOf(dataJson: string, etag: string, cycles: number): EngineAnswer {
  const body = `{"data":${dataJson}}`;
  return { body, etag, cycles, throttledRetryAfterS: 0, isReplayed: false };
}
