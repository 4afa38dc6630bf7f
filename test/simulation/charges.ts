import { accountIdOf } from '#test/simulation/accounts';
import { checkCharges } from '#test/simulation/check-charges';
import { AMPLE, type Scenario } from '#test/simulation/scenario';
import type { SimulatedCluster } from '#test/simulation/simulated-cluster';
import { Violation } from '#test/simulation/version-index';
import type { World } from '#test/simulation/world';

/** How long a change of an account may take to be effective everywhere. Source: architecture 4. */
const CHANGE_MS = 1_000;

/** Gives every account a plan that nothing exceeds, so that everybody can look at everything. */
export async function enlarge(world: World, cluster: SimulatedCluster): Promise<void> {
  const { scenario, ledger } = cluster;
  if (ledger === undefined) return;
  ledger.isLimited = false;
  const [limiter] = cluster.limiters;
  if (limiter === undefined) throw new Violation('there is no limiter after everything healed');
  const admin = await limiter.admin();
  for (const place of scenario.accounts.keys()) {
    await admin.setPlan(accountIdOf(place), { plan: 'enterprise', limits: AMPLE });
  }
  await world.sleep(CHANGE_MS);
}

/** Holds what is stored of every account's meter against what was granted and committed. */
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

/** Whether limiters only ever left in good order, and the store took what they had to say. */
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
