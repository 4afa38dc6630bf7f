import { accountIdOf } from '#test/simulation/callers/accounts';
import { checkCharges } from '#test/simulation/checks/charges';
import { AMPLE, type Scenario } from '#test/simulation/scenario';
import type { SimulatedCluster } from '#test/simulation/simulated/cluster';
import { Violation } from '#test/simulation/stored/version-index';
import type { World } from '#test/simulation/world';

/** Maximum time in ms until all processes apply an account change. Source: architecture 4. */
const CHANGE_MS = 1_000;

/** Gives every account an unlimited plan, so that no limiter refuses the final reads. */
export async function setUnlimitedPlans(world: World, cluster: SimulatedCluster): Promise<void> {
  const { scenario, ledger } = cluster;
  if (ledger === undefined) return;
  ledger.isLimited = false;
  const [limiter] = cluster.limiters;
  if (limiter === undefined) throw new Violation('no limiter runs after the last fault');
  const admin = await limiter.admin();
  for (const place of scenario.accounts.keys()) {
    await admin.setPlan(accountIdOf(place), { plan: 'enterprise', limits: AMPLE });
  }
  await world.sleep(CHANGE_MS);
}

/** Compares every stored meter with the account's admitted requests and committed cycles. */
export function checkAllCharges({ scenario, ledger, customers, seals }: SimulatedCluster): void {
  if (ledger === undefined) return;
  const isSealed = seals.some(({ victim, by }) => victim.startsWith('l') && victim !== by);
  const isUndisturbed = isOrderly(scenario) && !isSealed;
  for (const [place, limits] of scenario.accounts.entries()) {
    const accountId = accountIdOf(place);
    const grants = ledger.of(accountId);
    for (const meters of customers.meterPairs) {
      checkCharges({ accountId, limits, grants, head: meters.get(accountId), isUndisturbed });
    }
  }
}

/** Whether every limiter stopped cleanly and the store had no faults. */
function isOrderly({ disturbances, engines, store, replicas }: Scenario): boolean {
  const rates = [store, replicas].flatMap((faults) => Object.values(faults));
  if (rates.some((rate) => rate > 0)) return false;
  return disturbances.every(({ what }) => {
    switch (what.kind) {
      case 'restart':
      case 'killEdge':
      case 'edgeCut':
      case 'edgeBusCut':
        return true;
      case 'kill':
      case 'pause':
        return what.node < engines;
      default:
        return false;
    }
  });
}
