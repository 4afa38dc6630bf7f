import assert from 'node:assert/strict';
import { hashText } from '#platform/text-hash';

/**
 * The bucket in which the stored state of an actor lies: what is in one bucket is stored in one
 * write and read in one read. The same for ever: it says where stored states lie.
 */
export type BucketOf = (actorId: string) => number;

/**
 * Buckets of a shard. 64 shards then make 1,024 buckets: of 10,000,000 instances 10,000 heads of
 * 2 kB, 20 MB, lie in one. More would leave too few dirty actors for one write. Fixed for ever.
 */
const BUCKETS_PER_SHARD = 16;

/**
 * The buckets of a cluster with that many shards. They use the hash that gives actors their shards,
 * so that all of a bucket lies in one shard, and has one owner.
 */
export function bucketsOf(shardCount: number): BucketOf {
  const count = bucketCountOf(shardCount);
  return (actorId) => hashText(actorId) % count;
}

/** How many buckets there are then: their numbers count from 0. */
export function bucketCountOf(shardCount: number): number {
  return shardCount * BUCKETS_PER_SHARD;
}

/** The bucket that all of these actors lie in, of which there are at most `max`; undefined for none. */
export function onlyBucketOf(
  bucketOf: BucketOf,
  actorIds: readonly string[],
  max = Number.POSITIVE_INFINITY,
): number | undefined {
  assert(actorIds.length <= max, `more than ${max} of them at once`);
  const [bucket, other] = new Set(actorIds.map(bucketOf));
  assert(other === undefined, 'those of one call are of one bucket');
  return bucket;
}
