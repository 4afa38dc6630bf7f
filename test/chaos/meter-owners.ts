import { setTimeout as sleep } from 'node:timers/promises';
import { shardOf } from '#cluster/ring';
import type { LocalCluster } from '#deploy/local/local-cluster';
import { openClusterStores } from '#test/chaos/cluster-stores';

/** Shards rest for 30 s after a move on purpose (architecture 3.4), and move eight at a time. */
const EVEN_MS_MAX = 90_000;
const LOOK_EVERY_MS = 500;

/** The name of the limiter that owns an account's meter. */
export type MeterOwner = (accountId: string) => string;

/**
 * Waits until every limiter of the cluster owns its share of the shards, so that each has some of the
 * accounts, and fulfils with who has which by the table. Rejects when they never share evenly.
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
      // No node has more than one shard over its share (architecture 3).
      return Math.abs(owned - shards / limiters.length) <= 1;
    });
    if (isEven) return (accountId) => owners[shardOf(accountId, shards)] ?? '';
    if (performance.now() > deadlineMs) throw new Error('the limiters do not share their shards');
    await sleep(LOOK_EVERY_MS);
  }
}

/** The limiter that owns each shard by the table; empty for one that is not there. */
export async function ownersByShard(
  { plan }: LocalCluster,
  { shards, journals }: Awaited<ReturnType<typeof openClusterStores>>,
): Promise<string[]> {
  const rows = await shards.load('limiter', plan.shards);
  const names = new Map<string, string>();
  for (const incarnation of new Set(rows.map(({ owner }) => owner))) {
    const head = await journals.readHead(incarnation, 'serial');
    const process = plan.processes.find(({ port }) => head?.address === `127.0.0.1:${port}`);
    // A sealed incarnation of a process that has rejoined owns what its successor has not taken yet.
    names.set(incarnation, head?.isSealed ? '' : (process?.name ?? ''));
  }
  const owners = Array.from({ length: plan.shards }, () => '');
  for (const { shard, owner } of rows) owners[shard] = names.get(owner) ?? '';
  return owners;
}
