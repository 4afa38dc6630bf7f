import type { Findings } from '#test/chaos/checks/findings';
import { authorsOf } from '#test/chaos/checks/rows';
import type { StoredInstance } from '#test/chaos/checks/stored-instance';
import { type Call, hasHappened, isWrite } from '#test/chaos/load/call-log';
import type { InstanceCalls } from '#test/chaos/load/instance-calls';

/**
 * Checks linearizability: no two writes share a version, no call returns an older version than an
 * earlier answer, and rows follow version order and real time.
 */
export function checkOrder(
  stored: StoredInstance,
  calls: InstanceCalls,
  byMark: ReadonlyMap<string, Call>,
  findings: Findings,
): void {
  const { instance } = calls;
  for (const { id } of calls.strangers) {
    findings.add(`${instance}: the ETag in the answer to call ${id} matches no version`);
  }
  checkVersions(calls, findings);
  checkAfterDelete(calls, findings);
  checkRowOrder(authorsOf(stored, byMark), calls, findings);
}

type Versioned = { readonly call: Call; readonly version: number };

function checkVersions(calls: InstanceCalls, findings: Findings): void {
  const { instance } = calls;
  const versioned: Versioned[] = [];
  const writers = new Map<number, Call>();
  for (const call of calls.calls) {
    const version = calls.versionOf(call);
    if (version === undefined) continue;
    versioned.push({ call, version });
    if (!isNewVersion(call)) continue;
    const other = writers.get(version);
    if (other !== undefined) {
      findings.add(`${instance}: calls ${other.id} and ${call.id} both wrote version ${version}`);
    }
    writers.set(version, call);
  }
  for (const { earlier, later } of outOfOrder(versioned)) {
    findings.add(
      `${instance}: call ${later.call.id} received version ${later.version} after call ` +
        `${earlier.call.id} had received version ${earlier.version}`,
    );
  }
}

/**
 * Finds pairs of calls in which `later` began after the end of `earlier`, but received an older
 * version. If `later` is a write, the same version is wrong too.
 */
function outOfOrder(versioned: readonly Versioned[]): { earlier: Versioned; later: Versioned }[] {
  const wrong: { earlier: Versioned; later: Versioned }[] = [];
  const byEnd = versioned.toSorted((left, right) => left.call.endMs - right.call.endMs);
  let ended = 0;
  let earlier: Versioned | undefined;
  for (const later of versioned.toSorted(byStart)) {
    const { startMs } = later.call;
    for (let next = byEnd[ended]; next !== undefined && next.call.endMs < startMs; ) {
      if (next.version > (earlier?.version ?? 0)) earlier = next;
      ended += 1;
      next = byEnd[ended];
    }
    if (earlier !== undefined && isBefore(later, earlier)) wrong.push({ earlier, later });
  }
  return wrong;
}

function isBefore(later: Versioned, earlier: Versioned): boolean {
  return later.version < earlier.version + (isNewVersion(later.call) ? 1 : 0);
}

/** Whether the call wrote the version in its answer. */
function isNewVersion(call: Call): boolean {
  return isWrite(call) && call.outcome.kind === 'acknowledged';
}

function byStart(left: Versioned, right: Versioned): number {
  return left.call.startMs - right.call.startMs;
}

/** After an acknowledged delete, no call may succeed. */
function checkAfterDelete({ instance, calls }: InstanceCalls, findings: Findings): void {
  const removes = calls.filter((call) => call.requested.kind === 'remove' && hasHappened(call));
  const goneMs = Math.min(...removes.map(({ endMs }) => endMs));
  for (const { id, startMs, outcome } of calls) {
    const isAnswered = outcome.kind === 'acknowledged' || outcome.kind === 'throttled';
    if (isAnswered && startMs > goneMs) {
      findings.add(`${instance}: call ${id} succeeded after the acknowledged delete`);
    }
  }
}

function checkRowOrder(authors: readonly Call[], calls: InstanceCalls, findings: Findings): void {
  const { instance } = calls;
  let last: Versioned | undefined;
  let latest: Call | undefined;
  for (const call of authors) {
    if (latest !== undefined && call.endMs < latest.startMs) {
      findings.add(
        `${instance}: call ${latest.id} began after the end of call ${call.id}, ` +
          'but its rows are stored first',
      );
    }
    if (latest === undefined || call.startMs > latest.startMs) latest = call;
    const version = calls.versionOf(call);
    if (version === undefined || call.outcome.kind !== 'acknowledged') continue;
    if (last !== undefined && version <= last.version) {
      findings.add(
        `${instance}: the rows of version ${version} (call ${call.id}) are stored ` +
          `after the rows of version ${last.version} (call ${last.call.id})`,
      );
    }
    last = { call, version };
  }
}
