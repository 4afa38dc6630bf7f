import { type Call, type History, markOf } from '#test/simulation/checks/history';
import { TrimmedMarks } from '#test/simulation/checks/trimmed-marks';
import {
  isAcknowledged,
  isWrite,
  type Versioned,
  VersionIndex,
  Violation,
} from '#test/simulation/stored/version-index';

/**
 * Checks linearizability of the answers: one version per write, real-time order, monotonic reads,
 * equal content for equal versions, and no success after a deletion. Throws a `Violation`.
 */
export function checkOrder(history: Pick<History, 'calls'>): void {
  const index = new VersionIndex(history);
  for (const instance of index.instances) {
    const calls = index.of(instance);
    const versioned = calls.flatMap((call) => {
      const version = index.versionOf(call);
      return version === undefined ? [] : [{ call, version }];
    });
    checkUnique(versioned);
    checkRealTime(versioned);
    checkContent(versioned);
    checkConditions(versioned, index);
    checkPresence(calls);
    checkHistoryReads(calls);
  }
}

function committed({ call }: Versioned): boolean {
  return isWrite(call) && isAcknowledged(call);
}

function checkUnique(versioned: readonly Versioned[]): void {
  const owners = new Map<number, Call>();
  for (const { call, version } of versioned.filter(committed)) {
    const other = owners.get(version);
    if (other !== undefined) {
      throw new Violation(
        `${call.instance}: calls ${other.id} and ${call.id} both wrote version ${version}`,
      );
    }
    owners.set(version, call);
  }
}

/** Real-time order: a call that begins after an answer must not get a lower version. */
function checkRealTime(versioned: readonly Versioned[]): void {
  const byEnd = versioned.toSorted((a, b) => a.call.endedMs - b.call.endedMs);
  const byBegin = versioned.toSorted((a, b) => a.call.invokedMs - b.call.invokedMs);
  let ended = 0;
  let newest: Versioned | undefined;
  for (const begun of byBegin) {
    for (let next = byEnd[ended]; next !== undefined; next = byEnd[ended]) {
      if (next.call.endedMs >= begun.call.invokedMs) break;
      if (newest === undefined || next.version > newest.version) newest = next;
      ended += 1;
    }
    if (newest !== undefined) checkFollows(begun, newest);
  }
}

/** A later write must have a higher version; a later read must not have a lower version. */
function checkFollows(later: Versioned, earlier: Versioned): void {
  const least = committed(later) ? earlier.version + 1 : earlier.version;
  if (later.version >= least) return;
  const { instance, id } = later.call;
  const verb = committed(later) ? 'wrote' : 'read';
  throw new Violation(
    `${instance}: call ${id} ${verb} version ${later.version} ` +
      `after call ${earlier.call.id} had received version ${earlier.version}`,
  );
}

function checkContent(versioned: readonly Versioned[]): void {
  const contents = new Map<number, { call: Call; vitals: string }>();
  for (const { call, version } of versioned) {
    const vitals = call.outcome.kind === 'answered' ? call.outcome.seen.vitals : undefined;
    if (vitals === undefined) continue;
    const known = contents.get(version);
    if (known !== undefined && known.vitals !== vitals) {
      throw new Violation(
        `${call.instance}: version ${version} has two contents: "${known.vitals}" for call ` +
          `${known.call.id}, "${vitals}" for call ${call.id}`,
      );
    }
    contents.set(version, { call, vitals });
  }
}

function checkConditions(versioned: readonly Versioned[], index: VersionIndex): void {
  for (const { call, version } of versioned.filter(committed)) {
    const { ifMatch, instance, id } = call;
    if (ifMatch === undefined) continue;
    const bound = index.versionOfEtag(instance, ifMatch, id);
    if (version === bound + 1) continue;
    throw new Violation(
      `${instance}: call ${id} required version ${bound} by If-Match, but wrote version ${version}`,
    );
  }
}

/** Between create and delete, no call may get 404. After the delete, no call may succeed. */
function checkPresence(calls: readonly Call[]): void {
  const removes = calls.filter(({ requested }) => requested.kind === 'remove');
  const create = calls.find(({ requested }) => requested.kind === 'create');
  const removeBegunMs = Math.min(...removes.map(({ invokedMs }) => invokedMs));
  const removedMs = Math.min(...removes.filter(isAcknowledged).map(({ endedMs }) => endedMs));
  const createdMs =
    create !== undefined && isAcknowledged(create) ? create.endedMs : Number.POSITIVE_INFINITY;
  for (const call of calls) {
    const { outcome, requested, instance, id, invokedMs, endedMs } = call;
    if (outcome.kind === 'refused' && outcome.code === 'not_found') {
      if (invokedMs > createdMs && endedMs < removeBegunMs) {
        throw new Violation(`${instance}: call ${id} got not_found between create and delete`);
      }
    }
    const isGone = invokedMs > removedMs && requested.kind !== 'remove';
    if (isGone && outcome.kind === 'answered') {
      throw new Violation(`${instance}: call ${id} succeeded after the acknowledged delete`);
    }
  }
}

/** A history read must have every acknowledged observation once, and no trimmed observation. */
function checkHistoryReads(calls: readonly Call[]): void {
  const trimmed = new TrimmedMarks(calls);
  const processed = calls.filter(
    (call) => call.requested.kind === 'process' && isAcknowledged(call),
  );
  for (const call of calls) {
    const { requested, outcome, invokedMs, endedMs, id, instance } = call;
    if (requested.kind !== 'readHistory' || outcome.kind !== 'answered') continue;
    const what = `${instance}: the history that call ${id} read`;
    const marks = outcome.seen.marks ?? [];
    const seen = new Set(marks);
    if (seen.size < marks.length) throw new Violation(`${what} contains an observation twice`);
    if (outcome.seen.total !== marks.length) {
      throw new Violation(
        `${what} contains ${marks.length} observations, but its total is ${outcome.seen.total}`,
      );
    }
    trimmed.assertGone(what, seen, invokedMs);
    const lacking = processed.find((before) => {
      const mark = markOf(before.id, 0);
      return before.endedMs < invokedMs && !seen.has(mark) && !trimmed.mayLack(mark, endedMs);
    });
    if (lacking === undefined) continue;
    throw new Violation(`${what} lacks an observation of acknowledged call ${lacking.id}`);
  }
}
