import { setTimeout as sleep } from 'node:timers/promises';
import { shardOf } from '#cluster/shard-owners';
import type { LocalCluster } from '#deploy/local/local-cluster';
import { openClusterStores } from '#test/chaos/cluster-stores';

/**
 * Maximum wait for an even distribution in ms. After a move, a shard has a cool-down of 30 s, and
 * at most eight shards move at a time (architecture 3.4).
 */
const EVEN_MS_MAX = 90_000;
const POLL_EVERY_MS = 500;

/** Returns the limiter that owns an account's meter. */
export type MeterOwner = (accountId: string) => string;

/**
 * Waits until the shards are evenly distributed over the limiters, so that each limiter owns some
 * accounts. Resolves to a function that returns the owner of an account. Rejects after the maximum
 * wait.
 */
export async function evenMeterOwners(cluster: LocalCluster): Promise<MeterOwner> {
  const { shards, processes } = cluster.plan;
  const limiters = processes.filter(({ kind }) => kind === 'limiter').map(({ name }) => name);
  await using stores = await openClusterStores(cluster);
  const deadlineMs = performance.now() + EVEN_MS_MAX;
  for (;;) {
    const owners = await ownersByShard(cluster, stores);
    const isEven = limiters.every((name) => {
      const owned = owners.filter((owner) => owner === name).length;
      // A node owns at most one shard more than its share (architecture 3).
      return Math.abs(owned - shards / limiters.length) <= 1;
    });
    if (isEven) return (accountId) => owners[shardOf(accountId, shards)] ?? '';
    if (performance.now() > deadlineMs)
      throw new Error('the limiters own unequal shares of shards');
    await sleep(POLL_EVERY_MS);
  }
}

/** Name of the owner of each shard, according to the database; empty if the owner has stopped. */
export async function ownersByShard(
  { plan }: LocalCluster,
  { shards, journals }: Awaited<ReturnType<typeof openClusterStores>>,
): Promise<string[]> {
  const rows = await shards.load('limiter', plan.shards);
  const names = new Map<string, string>();
  for (const incarnation of new Set(rows.map(({ owner }) => owner))) {
    const head = await journals.readHead(incarnation, 'serial');
    const process = plan.processes.find(({ port }) => head?.address === `127.0.0.1:${port}`);
    // The database names a sealed incarnation as owner until another limiter has taken over.
    names.set(incarnation, head?.isSealed ? '' : (process?.name ?? ''));
  }
  const owners = Array.from({ length: plan.shards }, () => '');
  for (const { shard, owner } of rows) owners[shard] = names.get(owner) ?? '';
  return owners;
}
