import type { ShardedService, ShardRow, ShardStore } from '#storage/ports/cluster';

/** In-memory ShardStore with all guarantees of the port, for simulations and tests. */
export function memoryShardStore(): ShardStore {
  const counts = new Map<ShardedService, number>();
  const rows = new Map<ShardedService, Map<number, ShardRow>>();
  const rowsOf = (service: ShardedService): Map<number, ShardRow> => {
    const known = rows.get(service);
    if (known !== undefined) return known;
    const fresh = new Map<number, ShardRow>();
    rows.set(service, fresh);
    return fresh;
  };

  let cluster: string | undefined;
  return {
    async fixCluster(wanted) {
      cluster ??= wanted;
      return cluster;
    },
    async fixCount(service, wanted) {
      const count = counts.get(service) ?? wanted;
      counts.set(service, count);
      return count;
    },
    async countOf(service) {
      return counts.get(service);
    },
    async load(service, count) {
      return [...rowsOf(service).values()].filter(({ shard }) => shard < count);
    },
    async read(service, shard) {
      return rowsOf(service).get(shard);
    },
    async change({ service, shard, from, owner }) {
      const stored = rowsOf(service).get(shard);
      const isAsBelieved = stored?.owner === from?.owner && stored?.epoch === from?.epoch;
      if (!isAsBelieved) return { isApplied: false, row: stored };
      const row = { shard, owner, epoch: (from?.epoch ?? 0) + 1 };
      rowsOf(service).set(shard, row);
      return { isApplied: true, row };
    },
  };
}
