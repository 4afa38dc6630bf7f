import { formatApiKey, SECRET_LENGTH } from '#accounts/api-key';
import { send } from '#test/support/calls/caller';
import type { Cluster } from '#test/support/servers/cluster';

/** Secret that belongs to no key. Calls with this secret count nothing in the account. */
const SECRET = '0'.repeat(SECRET_LENGTH);

/** Maximum attempts before the search fails. */
const ATTEMPTS_MAX = 20;

/**
 * Finds the limiter that owns an account, and returns its name. Sends a wrong key, because only the
 * owner counts the refusal.
 */
export async function ownerOf(cluster: Cluster, accountId: string): Promise<string> {
  const authorization = `Bearer ${formatApiKey(accountId, SECRET)}`;
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const before = await refusals(cluster);
    await send(cluster.service(), 'GET', '/personas', { headers: { authorization } });
    const after = await refusals(cluster);
    for (const [name, count] of after) {
      if (count > (before.get(name) ?? count)) return name;
    }
  }
  throw new Error(`no limiter answers for ${accountId}`);
}

/** Refused keys per running limiter. */
async function refusals({ limiters, metric }: Cluster): Promise<ReadonlyMap<string, number>> {
  const running = [...limiters].filter(([, { child }]) => child.signalCode === null);
  const counts = running.map(async ([name, run]) => {
    return [name, await metric(run, 'limiter_checks_total{decision="key"}')] as const;
  });
  return new Map(await Promise.all(counts));
}
