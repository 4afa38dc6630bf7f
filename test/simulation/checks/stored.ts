import { newestRows } from '#storage/ports/chunks';
import { type HistoryRow, type InstanceHead, trimmedOf } from '#storage/ports/instances';
import { OBSERVATIONS } from '#storage/ports/rows';
import { type Call, type History, markOf, nameOf } from '#test/simulation/checks/history';
import { TrimmedMarks } from '#test/simulation/checks/trimmed-marks';
import type { ActorTables } from '#test/simulation/simulated/actor-tables';
import { isReplayed, type ResetMode } from '#test/simulation/stored/replay';
import {
  isAcknowledged,
  isWrite,
  VersionIndex,
  Violation,
} from '#test/simulation/stored/version-index';

/**
 * Compares the answers with the final stores after all checkpoints: nothing acknowledged is lost,
 * nothing refused is stored, nothing is duplicated, and the replayed history gives the head. Throws
 * a `Violation`.
 */
export function checkStored(history: Pick<History, 'calls'>, tables: ActorTables): void {
  const index = new VersionIndex(history);
  for (const instance of index.instances) {
    const calls = index.of(instance);
    const head = tables.head(instance);
    const isEverCreated = calls.some((call) => isAcknowledged(call) && isWrite(call));
    if (head === undefined) {
      if (isEverCreated) throw new Violation(`${instance}: nothing is stored of it`);
      continue;
    }
    checkVersions(instance, calls, index, head);
    if (head.deletedAtMs === undefined) checkLive(instance, calls, index, head, tables);
    else checkGone(instance, calls, tables);
  }
  checkOrphans(history, index, tables);
}

/** Checks that nothing is left of an instance after an acknowledged delete. */
export function checkDeleted({ calls }: Pick<History, 'calls'>, tables: ActorTables): void {
  for (const call of calls) {
    if (call.requested.kind !== 'remove' || !isAcknowledged(call)) continue;
    const { instance } = call;
    const isStored = tables.head(instance)?.deletedAtMs !== undefined;
    if (isStored && tables.rowCount(instance) === 0) continue;
    throw new Violation(`${instance}: call ${call.id} deleted it, and that is not stored in time`);
  }
}

/** An unknown instance must come from exactly one create of unknown outcome. */
function checkOrphans(
  { calls }: Pick<History, 'calls'>,
  index: VersionIndex,
  tables: ActorTables,
): void {
  const creates = new Map(
    calls
      .filter(({ requested, instance }) => requested.kind === 'create' && instance === '')
      .map((create) => [nameOf(create.id), create]),
  );
  for (const instance of tables.instances) {
    const head = tables.head(instance);
    if (head === undefined || index.of(instance).length > 0) continue;
    const create = creates.get(head.name);
    if (create?.outcome.kind !== 'unknown') {
      throw new Violation(`${instance}: no call has made "${head.name}", or it was refused`);
    }
    creates.delete(head.name);
  }
}

/** Every version must come from one call that took effect or may have. */
function checkVersions(
  instance: string,
  calls: readonly Call[],
  index: VersionIndex,
  head: InstanceHead,
): void {
  const writes = calls.filter(isWrite);
  const acknowledged = writes.filter(isAcknowledged).length;
  const unknown = writes.filter(({ outcome }) => outcome.kind === 'unknown').length;
  if (head.version < acknowledged || head.version > acknowledged + unknown) {
    throw new Violation(
      `${instance}: version ${head.version} after ${acknowledged} acknowledged and ${unknown} unknown`,
    );
  }
  for (const call of calls) {
    const version = index.versionOf(call) ?? 0;
    if (version <= head.version) continue;
    throw new Violation(
      `${instance}: call ${call.id} was answered with version ${version}, ` +
        `and ${head.version} is stored`,
    );
  }
}

function checkGone(instance: string, calls: readonly Call[], tables: ActorTables): void {
  const removes = calls.filter(({ requested }) => requested.kind === 'remove');
  if (!removes.some((remove) => isAcknowledged(remove) || remove.outcome.kind === 'unknown')) {
    throw new Violation(`${instance}: it is deleted, and no call has done that`);
  }
  const left = tables.rowCount(instance);
  if (left > 0) throw new Violation(`${instance}: ${left} rows are left of it after its delete`);
}

function checkLive(
  instance: string,
  calls: readonly Call[],
  index: VersionIndex,
  head: InstanceHead,
  tables: ActorTables,
): void {
  const removed = calls.find((call) => call.requested.kind === 'remove' && isAcknowledged(call));
  if (removed !== undefined) {
    throw new Violation(`${instance}: call ${removed.id} deleted it, and it is there`);
  }
  const { historyCount, newestHistory } = head;
  const { after } = newestHistory;
  const inHead = newestRows(OBSERVATIONS, instance, newestHistory, historyCount);
  const below = trimmedOf(head).history;
  const rows = [...tables.history(instance, after, after - below).reverse(), ...inHead];
  const count = head.historyCount - below;
  if (rows.length !== count || rows.some(({ ordinal }, place) => ordinal !== below + place + 1)) {
    throw new Violation(`${instance}: ${rows.length} of ${count} rows are stored, from ${below}`);
  }
  checkName(instance, calls, index, head);
  checkRows(instance, calls, rows);
  checkRowOrder(instance, calls, index, rows);
  const create = calls.find(({ requested }) => requested.kind === 'create')?.requested;
  if (create?.kind !== 'create') return;
  if (!isReplayed(create, rows, resetsOf(calls, index, head), head, answeredOf(calls))) {
    throw new Violation(`${instance}: its history does not come to its state`);
  }
}

/** The name must be the newest acknowledged one, or one of unknown outcome. */
function checkName(
  instance: string,
  calls: readonly Call[],
  index: VersionIndex,
  head: InstanceHead,
): void {
  const named = calls.filter(
    ({ requested }) => requested.kind === 'create' || requested.kind === 'rename',
  );
  const author = named.find(({ id }) => nameOf(id) === head.name);
  if (author !== undefined && author.outcome.kind === 'unknown') return;
  if (author === undefined || !isAcknowledged(author)) {
    throw new Violation(`${instance}: the name "${head.name}" was refused, or no call gave it`);
  }
  const version = index.versionOf(author) ?? head.version;
  const later = named.find(
    (call) => isAcknowledged(call) && (index.versionOf(call) ?? 0) > version,
  );
  if (later === undefined) return;
  throw new Violation(`${instance}: the name "${head.name}" is older than call ${later.id}`);
}

function checkRows(instance: string, calls: readonly Call[], rows: readonly HistoryRow[]): void {
  const places = new Map<string, number>();
  for (const { contextJson, ordinal } of rows) {
    const mark = String(JSON.parse(contextJson).mark);
    if (places.has(mark)) throw new Violation(`${instance}: observation ${mark} is there twice`);
    places.set(mark, ordinal);
  }
  const trimmed = new TrimmedMarks(calls);
  trimmed.assertGone(instance, new Set(places.keys()));
  for (const call of calls) checkObservations(instance, call, places, trimmed);
}

/**
 * All observations of an acknowledged call must be stored, and none of a refused or throttled one.
 */
function checkObservations(
  instance: string,
  call: Call,
  places: ReadonlyMap<string, number>,
  trimmed: TrimmedMarks,
): void {
  const { requested, id, outcome } = call;
  if (requested.kind !== 'process') return;
  const marks = requested.observations.map((_, place) => markOf(id, place));
  const found = marks.filter((mark) => places.has(mark)).length;
  const lost = marks.filter((mark) => !places.has(mark) && !trimmed.mayLack(mark)).length;
  if (found > 0 && lost > 0) {
    throw new Violation(`${instance}: only a part of call ${id} is there`);
  }
  const isThere = found > 0;
  if (isAcknowledged(call)) {
    if (lost > 0) throw new Violation(`${instance}: acknowledged call ${id} is lost`);
  } else if (isThere && outcome.kind !== 'unknown') {
    throw new Violation(`${instance}: call ${id} was refused, and it is there`);
  }
}

/** Rows must follow the order of their answered versions. */
function checkRowOrder(
  instance: string,
  calls: readonly Call[],
  index: VersionIndex,
  rows: readonly HistoryRow[],
): void {
  const versions = new Map<string, number>();
  for (const call of calls) {
    const version = isAcknowledged(call) ? index.versionOf(call) : undefined;
    if (call.requested.kind !== 'process' || version === undefined) continue;
    versions.set(markOf(call.id, 0), version);
  }
  let last = 0;
  for (const { contextJson } of rows) {
    const version = versions.get(JSON.parse(contextJson).mark);
    if (version === undefined) continue;
    if (version < last) throw new Violation(`${instance}: version ${version} stands after ${last}`);
    last = version;
  }
}

/** Reset modes in order, as far as acknowledged. */
function resetsOf(calls: readonly Call[], index: VersionIndex, head: InstanceHead): ResetMode[] {
  const resets = calls.filter(({ requested }) => requested.kind === 'reset');
  const happened = resets.filter(isAcknowledged);
  const unknown = resets.filter(({ outcome }) => outcome.kind === 'unknown').length;
  const count = head.generation - 1;
  if (count < happened.length || count > happened.length + unknown) {
    throw new Violation(
      `${head.generation} generations after ${happened.length} resets and ${unknown} unknown`,
    );
  }
  const isKnown =
    count === happened.length && happened.every((reset) => index.versionOf(reset) !== undefined);
  if (!isKnown) return [];
  return happened
    .toSorted((a, b) => (index.versionOf(a) ?? 0) - (index.versionOf(b) ?? 0))
    .map(({ requested }) => (requested.kind === 'reset' ? requested.mode : 'either'));
}

/** Answered state after each call's last observation, by mark. */
function answeredOf(calls: readonly Call[]): Map<string, string> {
  const answered = new Map<string, string>();
  for (const { requested, outcome, id } of calls) {
    if (requested.kind !== 'process' || outcome.kind !== 'answered' || outcome.seen.isThrottled)
      continue;
    if (outcome.seen.vitals === undefined) continue;
    answered.set(markOf(id, requested.observations.length - 1), outcome.seen.vitals);
  }
  return answered;
}
