import type { RoutingTable } from '#cluster/routing-table';
import type { Clock } from '#platform/clock';
import type { ShardStore } from '#storage/shard-store';

/**
 * The shards' table, each read of which also corrects what the bus has announced: a node reads it
 * every second anyway, and names the owners that it knows to its callers. Source: decision 136.
 */
export function checkedRoutes(
  shards: ShardStore,
  routes: Pick<RoutingTable, 'check'>,
  clock: Pick<Clock, 'monotonicMs'>,
): ShardStore {
  return {
    ...shards,
    async load(service, count) {
      const askedMs = clock.monotonicMs();
      const rows = await shards.load(service, count);
      routes.check(rows, askedMs);
      return rows;
    },
  };
}
