import { hashText } from '#platform/text-hash';

/**
 * The shard of an actor, 0 to `shardCount` - 1. Never changes for an id and a count, in any
 * version: routers and owners must agree. Source: architecture 3.
 */
export function shardOf(actorId: string, shardCount: number): number {
  return hashText(actorId) % shardCount;
}
