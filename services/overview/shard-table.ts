import type { ShardedService, ShardRow, ShardStore } from '#storage/shard-store';

/** Every service whose actors are sharded. */
export const SERVICES: readonly ShardedService[] = ['engine', 'limiter'];

/** Shards of the largest cluster (`SERVICE_SHARDS`). */
const SHARDS_MAX = 4_096;

/** Who owns what, as the table says: the only thing that can be trusted for it (architecture 3). */
export type ShardTable = {
  readonly service: ShardedService;
  /** Id of the cluster. */
  readonly cluster: string;
  readonly shardCount: number;
  /** In the order of the shards. */
  readonly rows: readonly ShardRow[];
};

/** The table of a service; undefined when no node ever owned a shard of it. Rejects as the store does. */
export async function readShardTable(
  shards: ShardStore,
  service: ShardedService,
): Promise<ShardTable | undefined> {
  const rows = await shards.load(service, SHARDS_MAX);
  if (rows.length === 0) return undefined;
  // Both stand before the first row does, so nothing is fixed by asking.
  const cluster = await shards.fixCluster('');
  const shardCount = await shards.fixCount(service, SHARDS_MAX);
  return { service, cluster, shardCount, rows: inOrder(rows) };
}

/** The same table, read again: what it is the table of never changes, and costs more to ask. */
export async function readAgain(shards: ShardStore, before: ShardTable): Promise<ShardTable> {
  const rows = await shards.load(before.service, before.shardCount);
  return { ...before, rows: inOrder(rows) };
}

function inOrder(rows: readonly ShardRow[]): readonly ShardRow[] {
  return rows.toSorted((a, b) => a.shard - b.shard);
}
