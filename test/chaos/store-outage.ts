import { type Call, hasHappened, isWrite } from '#test/chaos/call-log';
import type { Findings } from '#test/chaos/findings';
import { isError } from '#test/chaos/timeline';

/** A time in which most Cassandra nodes were gone. Times are monotonic milliseconds. */
export type StoreOutage = {
  readonly nodes: readonly string[];
  /** None of them is left from here on, and none has come back until there. */
  readonly fromMs: number;
  readonly toMs: number;
};

/** How long after an append answers may come from memory alone. Source: architecture 3.1. */
const READ_LEASE_MS = 2_000;

/** Calls that were sent and answered while most Cassandra nodes were gone. */
export function callsMeanwhile(
  calls: readonly Call[],
  { fromMs, toMs }: Pick<StoreOutage, 'fromMs' | 'toMs'>,
): Call[] {
  return calls.filter(({ startMs, endMs }) => startMs >= fromMs && endMs < toMs);
}

/**
 * Nothing that was asked for in an outage may have happened before it is over, and once no read lease
 * can be left there may be no answer but errors: what breaks that is a finding.
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

/** Answers while most Cassandra nodes were down, an item each, in Markdown. */
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
