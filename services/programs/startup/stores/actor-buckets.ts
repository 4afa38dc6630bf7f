import type { Config } from '#config';
import type { ShardedService, ShardStore } from '#storage/ports/cluster';
import { type BucketOf, bucketsOf } from '#storage/ports/instances';

/**
 * Bucket function for a service's actors. Uses the cluster's stored shard count if there is one,
 * because `ctl` may be configured with another count. A node with a different count ends before it
 * reads or stores anything.
 */
export async function bucketsIn(
  shards: ShardStore,
  service: ShardedService,
  { SERVICE_SHARDS }: Config,
): Promise<BucketOf> {
  return bucketsOf((await shards.countOf(service)) ?? SERVICE_SHARDS);
}
