import { WATCHERS } from '#cluster/failover-timing';
import { nodesAfter } from '#cluster/shard-owners';

/** More nodes than one node watches. */
export const MANY = Array.from({ length: 12 }, (_, i) => `n${i}`);

/** Whether `me` watches a node in `MANY`. */
export function isWatched(node: string): boolean {
  return nodesAfter(node, ['me', ...MANY], WATCHERS).includes('me');
}

/** A node among `MANY` that `me` watches (`isMine`) or does not watch. */
export function oneOfMany(isMine: boolean): string {
  return MANY.find((node) => isWatched(node) === isMine) ?? '';
}
