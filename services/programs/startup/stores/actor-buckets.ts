import type { Config } from '#config';
import type { ShardedService, ShardStore } from '#storage/ports/cluster';
import { type BucketOf, bucketsOf } from '#storage/ports/instances';

/**
 * Bucket function for a service's actors. Prefers the cluster's stored shard count, because `ctl`
 * may be configured with another count. A node that is configured with another count ends before
 * its first read or write.
 */
export async function bucketsIn(
  shards: ShardStore,
  service: ShardedService,
  { SERVICE_SHARDS }: Config,
): Promise<BucketOf> {
  return bucketsOf((await shards.countOf(service)) ?? SERVICE_SHARDS);
}
