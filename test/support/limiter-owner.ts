import { formatApiKey, SECRET_LENGTH } from '#accounts/api-key';
import { send } from '#test/support/caller';
import type { Cluster } from '#test/support/cluster';

/** A secret of no key: asking with it counts nothing in the account. */
const SECRET = '0'.repeat(SECRET_LENGTH);

/** How often the question is asked before no owner is said to answer. */
const TRIES_MAX = 20;

/** The name of the limiter that answers for an account: the one that refuses a wrong key of it. */
export async function ownerOf(cluster: Cluster, accountId: string): Promise<string> {
  const authorization = `Bearer ${formatApiKey(accountId, SECRET)}`;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const before = await refusals(cluster);
    await send(cluster.service(), 'GET', '/personas', { headers: { authorization } });
    const after = await refusals(cluster);
    for (const [name, count] of after) {
      if (count > (before.get(name) ?? count)) return name;
    }
  }
  throw new Error(`no limiter answers for ${accountId}`);
}

/** Wrong keys that each living limiter has refused. */
async function refusals({ limiters, metric }: Cluster): Promise<ReadonlyMap<string, number>> {
  const living = [...limiters].filter(([, { child }]) => child.signalCode === null);
  const counts = living.map(async ([name, run]) => {
    return [name, await metric(run, 'limiter_checks_total{decision="key"}')] as const;
  });
  return new Map(await Promise.all(counts));
}
