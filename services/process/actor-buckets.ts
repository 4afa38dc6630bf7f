import type { Config } from '#config';
import type { ShardedService, ShardStore } from '#storage/ports/cluster';
import { type BucketOf, bucketsOf } from '#storage/ports/instances';

/**
 * Where the states of a service's actors lie. The number of shards that stands decides: `ctl` may
 * be configured with another. A node that is ends before it reads or stores anything.
 */
export async function bucketsIn(
  shards: ShardStore,
  service: ShardedService,
  { SERVICE_SHARDS }: Config,
): Promise<BucketOf> {
  return bucketsOf((await shards.countOf(service)) ?? SERVICE_SHARDS);
}
