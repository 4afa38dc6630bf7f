import type { Findings } from '#test/chaos/checks/findings';
import { countText } from '#test/chaos/checks/quota';
import { type Call, hasHappened, isWrite } from '#test/chaos/load/call-log';
import { isError } from '#test/chaos/timeline';

/** An outage of most Cassandra nodes. Times are monotonic milliseconds. */
export type StoreOutage = {
  readonly nodes: readonly string[];
  /** All `nodes` are down from `fromMs` until `toMs`. */
  readonly fromMs: number;
  readonly toMs: number;
};

/** Read lease: time in ms after an append in which memory may answer. Source: architecture 3.1. */
const READ_LEASE_MS = 2_000;

/** Calls that were sent and answered during an outage. */
export function callsMeanwhile(
  calls: readonly Call[],
  { fromMs, toMs }: Pick<StoreOutage, 'fromMs' | 'toMs'>,
): Call[] {
  return calls.filter(({ startMs, endMs }) => startMs >= fromMs && endMs < toMs);
}

/**
 * Checks the answers during an outage. No change that was requested during the outage may be
 * acknowledged before the end of the outage. After the read lease, every answer must be an error.
 */
export function checkStoreOutage(
  calls: readonly Call[],
  outage: Pick<StoreOutage, 'fromMs' | 'toMs'>,
  findings: Findings,
): void {
  for (const call of callsMeanwhile(calls, outage)) {
    const { id, requested, endMs } = call;
    const afterS = ((endMs - outage.fromMs) / 1_000).toFixed(1);
    const whenText = `${afterS} s after the start of a store outage`;
    if (isWrite(call) && hasHappened(call)) {
      findings.add(`call ${id}: ${requested.kind} acknowledged ${whenText}`);
    } else if (endMs > outage.fromMs + READ_LEASE_MS && !isError(call)) {
      findings.add(`call ${id}: ${requested.kind} answered ${whenText}`);
    }
  }
}

/** Sentences above the table: which calls the table counts, and which calls may succeed. */
const COUNTED_CALLS =
  'The next table counts calls that started and ended while two nodes were down. An engine may answer reads from memory ' +
  `until ${READ_LEASE_MS / 1_000} s after the start of its last successful write (the read lease).`;

/** Markdown blocks about answers during store outages; empty without an outage. */
export function storeOutageLines(
  calls: readonly Call[],
  outages: readonly StoreOutage[],
): string[] {
  if (outages.length === 0) return [];
  const rows = outages.map((outage) => {
    const meanwhile = callsMeanwhile(calls, outage);
    const changes = meanwhile.filter((call) => isWrite(call) && hasHappened(call)).length;
    const failed = meanwhile.filter(isError).length;
    const answers = meanwhile.length - failed - changes;
    const seconds = ((outage.toMs - outage.fromMs) / 1_000).toFixed(1);
    const counts = [meanwhile.length, changes, answers, failed].map(countText);
    return `| ${[seconds, ...counts].join(' | ')} |`;
  });
  const table = [
    '| Two nodes down, s | Calls | Acknowledged changes | Answers from memory (read lease) | Failed calls |',
    '|---:|---:|---:|---:|---:|',
    ...rows,
  ].join('\n');
  return [COUNTED_CALLS, table];
}
