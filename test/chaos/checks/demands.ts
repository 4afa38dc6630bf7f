import type { Findings } from '#test/chaos/checks/findings';
import { countText, percent } from '#test/chaos/checks/quota';
import type { Fault } from '#test/chaos/faults/fault';
import { checkStoreOutage, type StoreOutage } from '#test/chaos/faults/store-outage';
import type { Call } from '#test/chaos/load/call-log';
import { type Disturbance, errorShareOf, isError, timeOf } from '#test/chaos/timeline';

/** Injected faults and the calls of the load. */
type SeenFaults = {
  readonly log: { readonly calls: readonly Call[] };
  readonly disturbances: readonly Disturbance[];
  readonly storeOutages: readonly StoreOutage[];
};

/** Checks the share of failed calls of each fault, and the answers during store outages. */
export function checkDemands(
  faults: readonly Pick<Fault, 'name' | 'title' | 'errorShareMax'>[],
  seen: SeenFaults,
  findings: Findings,
): void {
  const { log, disturbances, storeOutages } = seen;
  for (const { name, title, errorShareMax = 1 } of faults) {
    const { calls } = timeOf(name, disturbances, log.calls) ?? { calls: [] };
    const share = errorShareOf(calls);
    if (share <= errorShareMax) continue;
    const failed = countText(calls.filter(isError).length);
    const most = errorShareMax === 0 ? 'no call' : `at most ${percent(errorShareMax)}`;
    findings.add(
      `${title}: ${failed} of ${countText(calls.length)} calls failed (${percent(share)}); ${most} may fail`,
    );
  }
  for (const outage of storeOutages) checkStoreOutage(log.calls, outage, findings);
}
