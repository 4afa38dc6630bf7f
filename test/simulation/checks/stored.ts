import { newestRows } from '#storage/ports/chunks';
import { type HistoryRow, type InstanceHead, trimmedOf } from '#storage/ports/instances';
import { OBSERVATIONS } from '#storage/ports/rows';
import { type Call, type History, markOf, nameOf } from '#test/simulation/checks/history';
import { checkStoredTexts } from '#test/simulation/checks/texts';
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
 * Compares the answers with the final stores, after all checkpoints. Acknowledged writes are stored
 * once, refused writes are not stored, and replaying a history gives the stored head. Throws a
 * `Violation`.
 */
export function checkStored(history: Pick<History, 'calls'>, tables: ActorTables): void {
  const index = new VersionIndex(history);
  for (const instance of index.instances) {
    const calls = index.of(instance);
    const head = tables.head(instance);
    const isEverCreated = calls.some((call) => isAcknowledged(call) && isWrite(call));
    if (head === undefined) {
      if (isEverCreated) throw new Violation(`${instance}: acknowledged, but no head is stored`);
      continue;
    }
    checkVersions(instance, calls, index, head);
    if (head.deletedAtMs === undefined) checkLive(instance, calls, index, head, tables);
    else checkGone(instance, calls, tables);
  }
  checkOrphans(history, index, tables);
}

/** Checks that every acknowledged delete is stored: a tombstone and no rows. */
export function checkDeleted({ calls }: Pick<History, 'calls'>, tables: ActorTables): void {
  for (const call of calls) {
    if (call.requested.kind !== 'remove' || !isAcknowledged(call)) continue;
    const { instance } = call;
    const isStored = tables.head(instance)?.deletedAtMs !== undefined;
    if (isStored && tables.rowCount(instance) === 0) continue;
    throw new Violation(`${instance}: the delete of call ${call.id} was not stored in time`);
  }
}

/** An instance that no answer contains must come from a create with an unknown outcome. */
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
      throw new Violation(`${instance}: no call can have created "${head.name}"`);
    }
    creates.delete(head.name);
  }
}

/** Every version must come from one write that was acknowledged or has an unknown outcome. */
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
      `${instance}: version ${head.version} is stored after ${acknowledged} acknowledged writes ` +
        `and ${unknown} writes with unknown outcome`,
    );
  }
  for (const call of calls) {
    const version = index.versionOf(call) ?? 0;
    if (version <= head.version) continue;
    throw new Violation(
      `${instance}: call ${call.id} was answered with version ${version}, ` +
        `but version ${head.version} is stored`,
    );
  }
}

function checkGone(instance: string, calls: readonly Call[], tables: ActorTables): void {
  const removes = calls.filter(({ requested }) => requested.kind === 'remove');
  if (!removes.some((remove) => isAcknowledged(remove) || remove.outcome.kind === 'unknown')) {
    throw new Violation(`${instance}: the instance is deleted, but no call deleted it`);
  }
  const left = tables.rowCount(instance);
  if (left > 0) throw new Violation(`${instance}: ${left} rows remain after the delete`);
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
    throw new Violation(`${instance}: still stored, but call ${removed.id} deleted the instance`);
  }
  const { historyCount, newestHistory } = head;
  const { after } = newestHistory;
  const inHead = newestRows(OBSERVATIONS, instance, newestHistory, historyCount);
  const below = trimmedOf(head).history;
  const rows = [...tables.history(instance, after, after - below).reverse(), ...inHead];
  const count = head.historyCount - below;
  if (rows.length !== count || rows.some(({ ordinal }, place) => ordinal !== below + place + 1)) {
    throw new Violation(
      `${instance}: ${rows.length} history rows are stored; ` +
        `expected ${count} without a gap from ordinal ${below + 1}`,
    );
  }
  checkStoredTexts(instance, index, head);
  checkRows(instance, calls, rows);
  checkRowOrder(instance, calls, index, rows);
  const create = calls.find(({ requested }) => requested.kind === 'create')?.requested;
  if (create?.kind !== 'create') return;
  if (!isReplayed(create, rows, resetsOf(calls, index, head), head, answeredOf(calls))) {
    throw new Violation(
      `${instance}: replaying the history does not give the stored and answered states`,
    );
  }
}

function checkRows(instance: string, calls: readonly Call[], rows: readonly HistoryRow[]): void {
  const places = new Map<string, number>();
  for (const { contextJson, ordinal } of rows) {
    const mark = String(JSON.parse(contextJson).mark);
    if (places.has(mark)) throw new Violation(`${instance}: observation ${mark} is stored twice`);
    places.set(mark, ordinal);
  }
  const trimmed = new TrimmedMarks(calls);
  trimmed.assertGone(instance, new Set(places.keys()));
  for (const call of calls) checkObservations(instance, call, places, trimmed);
}

/** An acknowledged call must be stored completely; a refused or throttled call not at all. */
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
    throw new Violation(`${instance}: only some observations of call ${id} are stored`);
  }
  const isThere = found > 0;
  if (isAcknowledged(call)) {
    if (lost > 0) throw new Violation(`${instance}: acknowledged call ${id} is lost`);
  } else if (isThere && outcome.kind !== 'unknown') {
    throw new Violation(`${instance}: call ${id} was refused, but it is stored`);
  }
}

/** Rows must have the same order as the versions answered for them. */
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
    if (version < last) {
      throw new Violation(
        `${instance}: the row of version ${version} is stored after the row of version ${last}`,
      );
    }
    last = version;
  }
}

/** Reset modes by version; empty if an outcome or a version is unknown. */
function resetsOf(calls: readonly Call[], index: VersionIndex, head: InstanceHead): ResetMode[] {
  const resets = calls.filter(({ requested }) => requested.kind === 'reset');
  const happened = resets.filter(isAcknowledged);
  const unknown = resets.filter(({ outcome }) => outcome.kind === 'unknown').length;
  const count = head.generation - 1;
  if (count < happened.length || count > happened.length + unknown) {
    throw new Violation(
      `${head.generation} generations are stored after ${happened.length} acknowledged resets ` +
        `and ${unknown} resets with unknown outcome`,
    );
  }
  const isKnown =
    count === happened.length && happened.every((reset) => index.versionOf(reset) !== undefined);
  if (!isKnown) return [];
  return happened
    .toSorted((a, b) => (index.versionOf(a) ?? 0) - (index.versionOf(b) ?? 0))
    .map(({ requested }) => (requested.kind === 'reset' ? requested.mode : 'either'));
}

/** Answered states, by the mark of the call's last observation. */
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
