import type { Call } from '#test/chaos/call-log';
import { percent } from '#test/chaos/check-quota';
import type { Fault } from '#test/chaos/fault';
import type { Findings } from '#test/chaos/findings';
import { checkStoreOutage, type StoreOutage } from '#test/chaos/store-outage';
import { type Disturbance, errorShareOf, timeOf } from '#test/chaos/timeline';

/** What was done to a cluster, and the calls of its load. */
type SeenFaults = {
  readonly log: { readonly calls: readonly Call[] };
  readonly disturbances: readonly Disturbance[];
  readonly storeOutages: readonly StoreOutage[];
};

/** What was demanded of faults themselves: how many calls they may cost, and what may happen meanwhile. */
export function checkDemands(
  faults: readonly Pick<Fault, 'name' | 'errorShareMax'>[],
  seen: SeenFaults,
  findings: Findings,
): void {
  const { log, disturbances, storeOutages } = seen;
  for (const { name, errorShareMax = 1 } of faults) {
    const share = errorShareOf(timeOf(name, disturbances, log.calls)?.calls ?? []);
    if (share <= errorShareMax) continue;
    findings.add(
      `${name}: ${percent(share)} of the calls failed, of at most ${percent(errorShareMax)}`,
    );
  }
  for (const outage of storeOutages) checkStoreOutage(log.calls, outage, findings);
}
