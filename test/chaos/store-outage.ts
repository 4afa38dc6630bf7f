import { type Call, hasHappened, isWrite } from '#test/chaos/call-log';
import type { Findings } from '#test/chaos/findings';
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

/** Answers during outages of most Cassandra nodes, as Markdown list items. */
export function storeOutageLines(
  calls: readonly Call[],
  outages: readonly StoreOutage[],
): string[] {
  const items = outages.map((outage) => {
    const { nodes, fromMs, toMs } = outage;
    const meanwhile = callsMeanwhile(calls, outage);
    const happened = meanwhile.filter((call) => isWrite(call) && hasHappened(call)).length;
    const others = meanwhile.filter((call) => !isError(call)).length - happened;
    const seconds = ((toMs - fromMs) / 1_000).toFixed(1);
    return `- ${seconds} s without ${nodes.join(' and ')}: ${meanwhile.length} calls, ${happened} changes acknowledged, ${others} other answers`;
  });
  if (items.length === 0) return [];
  return [
    'Calls that were sent and answered while two nodes were down, until the first one listened again. Other answers come',
    'from memory under the read lease of 2 s. The rest got 503.',
    '',
    ...items,
    '',
  ];
}
