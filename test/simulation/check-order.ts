import type { History, Operation } from '#test/simulation/history';
import {
  isAcknowledged,
  isWrite,
  type Versioned,
  VersionIndex,
  Violation,
} from '#test/simulation/version-index';

/**
 * Checks what callers were told against itself and against real time: one version an operation,
 * order as it was seen, reads that never go back, one content for one version, and nothing after a
 * deletion. Throws a `Violation`.
 */
export function checkOrder(history: Pick<History, 'operations'>): void {
  const index = new VersionIndex(history);
  for (const instance of index.instances) {
    const operations = index.of(instance);
    const versioned = operations.flatMap((operation) => {
      const version = index.versionOf(operation);
      return version === undefined ? [] : [{ operation, version }];
    });
    checkUnique(versioned);
    checkRealTime(versioned);
    checkContent(versioned);
    checkConditions(versioned, index);
    checkPresence(operations);
    checkHistoryReads(operations);
  }
}

function committed({ operation }: Versioned): boolean {
  return isWrite(operation) && isAcknowledged(operation);
}

function checkUnique(versioned: readonly Versioned[]): void {
  const owners = new Map<number, Operation>();
  for (const { operation, version } of versioned.filter(committed)) {
    const other = owners.get(version);
    if (other !== undefined) {
      throw new Violation(
        `${operation.instance}: operations ${other.id} and ${operation.id} share version ${version}`,
      );
    }
    owners.set(version, operation);
  }
}

/** What had been answered before an operation began bounds its version from below. */
function checkRealTime(versioned: readonly Versioned[]): void {
  const byEnd = versioned.toSorted((a, b) => a.operation.endedMs - b.operation.endedMs);
  const byBegin = versioned.toSorted((a, b) => a.operation.invokedMs - b.operation.invokedMs);
  let ended = 0;
  let newest: Versioned | undefined;
  for (const begun of byBegin) {
    for (let next = byEnd[ended]; next !== undefined; next = byEnd[ended]) {
      if (next.operation.endedMs >= begun.operation.invokedMs) break;
      if (newest === undefined || next.version > newest.version) newest = next;
      ended += 1;
    }
    if (newest !== undefined) checkFollows(begun, newest);
  }
}

/** A write makes a newer version than all that was seen before it; a read may see the same again. */
function checkFollows(later: Versioned, earlier: Versioned): void {
  const least = committed(later) ? earlier.version + 1 : earlier.version;
  if (later.version >= least) return;
  throw new Violation(
    `${later.operation.instance}: operation ${later.operation.id} was answered with version ` +
      `${later.version} after operation ${earlier.operation.id} had been with ${earlier.version}`,
  );
}

function checkContent(versioned: readonly Versioned[]): void {
  const contents = new Map<number, { operation: Operation; vitals: string }>();
  for (const { operation, version } of versioned) {
    const vitals =
      operation.outcome.kind === 'answered' ? operation.outcome.seen.vitals : undefined;
    if (vitals === undefined) continue;
    const known = contents.get(version);
    if (known !== undefined && known.vitals !== vitals) {
      throw new Violation(
        `${operation.instance}: version ${version} was "${known.vitals}" for operation ` +
          `${known.operation.id} and "${vitals}" for ${operation.id}`,
      );
    }
    contents.set(version, { operation, vitals });
  }
}

function checkConditions(versioned: readonly Versioned[], index: VersionIndex): void {
  for (const { operation, version } of versioned.filter(committed)) {
    const { ifMatch, instance, id } = operation;
    if (ifMatch === undefined) continue;
    const bound = index.versionOfEtag(instance, ifMatch, id);
    if (version === bound + 1) continue;
    throw new Violation(`${instance}: operation ${id} was bound to ${bound} and made ${version}`);
  }
}

/** An instance is there from its create's answer on, and gone from its delete's answer on. */
function checkPresence(operations: readonly Operation[]): void {
  const removes = operations.filter(({ wish }) => wish.kind === 'remove');
  const create = operations.find(({ wish }) => wish.kind === 'create');
  const removeBegunMs = Math.min(...removes.map(({ invokedMs }) => invokedMs));
  const removedMs = Math.min(...removes.filter(isAcknowledged).map(({ endedMs }) => endedMs));
  const createdMs =
    create !== undefined && isAcknowledged(create) ? create.endedMs : Number.POSITIVE_INFINITY;
  for (const operation of operations) {
    const { outcome, wish, instance, id, invokedMs, endedMs } = operation;
    if (outcome.kind === 'refused' && outcome.code === 'not_found') {
      if (invokedMs > createdMs && endedMs < removeBegunMs) {
        throw new Violation(`${instance}: operation ${id} did not find it after its create`);
      }
    }
    const isGone = invokedMs > removedMs && wish.kind !== 'remove';
    if (isGone && outcome.kind === 'answered') {
      throw new Violation(`${instance}: operation ${id} was answered after the delete`);
    }
  }
}

/** A history holds every observation that had been acknowledged, once. */
function checkHistoryReads(operations: readonly Operation[]): void {
  const processed = operations.filter(
    (operation) => operation.wish.kind === 'process' && isAcknowledged(operation),
  );
  for (const { wish, outcome, invokedMs, id, instance } of operations) {
    if (wish.kind !== 'readHistory' || outcome.kind !== 'answered') continue;
    const marks = outcome.seen.marks ?? [];
    const seen = new Set(marks);
    if (seen.size < marks.length) {
      throw new Violation(`${instance}: the history of operation ${id} holds something twice`);
    }
    if (outcome.seen.total !== marks.length) {
      throw new Violation(
        `${instance}: the history of operation ${id} holds ${marks.length} of ${outcome.seen.total}`,
      );
    }
    for (const before of processed) {
      if (before.endedMs >= invokedMs || seen.has(`${before.id}.0`)) continue;
      throw new Violation(
        `${instance}: the history of operation ${id} lacks operation ${before.id}`,
      );
    }
  }
}
