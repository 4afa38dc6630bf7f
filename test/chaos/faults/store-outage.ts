import type { Findings } from '#test/chaos/checks/findings';
import { type Call, hasHappened, isWrite } from '#test/chaos/load/call-log';
import { isError } from '#test/chaos/timeline';

/** A period without a majority of Cassandra nodes. Times are monotonic milliseconds. */
export type StoreOutage = {
  readonly nodes: readonly string[];
  /** From here, all killed nodes are down; `toMs` is before the first returns. */
  readonly fromMs: number;
  readonly toMs: number;
};

/**
 * Maximum time after an append in which memory alone may answer: the read lease. Source:
 * architecture 3.1.
 */
const READ_LEASE_MS = 2_000;

/** Calls sent and answered while most Cassandra nodes were down. */
export function callsMeanwhile(
  calls: readonly Call[],
  { fromMs, toMs }: Pick<StoreOutage, 'fromMs' | 'toMs'>,
): Call[] {
  return calls.filter(({ startMs, endMs }) => startMs >= fromMs && endMs < toMs);
}

/**
 * Checks an outage. A change requested during it must not be acknowledged before its end. After the
 * read lease ends, every answer must be an error.
 */
export function checkStoreOutage(
  calls: readonly Call[],
  outage: Pick<StoreOutage, 'fromMs' | 'toMs'>,
  findings: Findings,
): void {
  for (const call of callsMeanwhile(calls, outage)) {
    const { id, requested, endMs } = call;
    const afterS = ((endMs - outage.fromMs) / 1_000).toFixed(1);
    if (isWrite(call) && hasHappened(call)) {
      findings.add(`call ${id}: ${requested.kind} acknowledged ${afterS} s into a store outage`);
    } else if (endMs > outage.fromMs + READ_LEASE_MS && !isError(call)) {
      findings.add(`call ${id}: ${requested.kind} answered ${afterS} s into a store outage`);
    }
  }
}

/** Answers while most Cassandra nodes were down, as blocks in Markdown; none without such an outage. */
export function storeOutageLines(
  calls: readonly Call[],
  outages: readonly StoreOutage[],
): string[] {
  if (outages.length === 0) return [];
  const figures = outages.map((outage) => {
    const meanwhile = callsMeanwhile(calls, outage);
    const changes = meanwhile.filter((call) => isWrite(call) && hasHappened(call)).length;
    const answers = meanwhile.filter((call) => !isError(call)).length - changes;
    const seconds = ((outage.toMs - outage.fromMs) / 1_000).toFixed(1);
    return { seconds, calls: meanwhile.length, changes, answers };
  });
  const listOf = (name: keyof (typeof figures)[number]) =>
    figures.map((each) => each[name]).join(', ');
  return [
    `Most nodes were down for ${listOf('seconds')} s. Meanwhile callers sent ${listOf('calls')} calls and got ` +
      `${listOf('changes')} acknowledged changes, ${listOf('answers')} answers from memory (read lease), and 503 for the rest.`,
  ];
}
