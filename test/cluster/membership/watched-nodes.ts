import { WATCHERS } from '#cluster/failover-timing';
import { nodesAfter } from '#cluster/shard-owners';

/** More nodes than one node watches. */
export const MANY = Array.from({ length: 12 }, (_, i) => `n${i}`);

/** Whether `me` watches a node in `MANY`. */
export function isWatched(node: string): boolean {
  return nodesAfter(node, ['me', ...MANY], WATCHERS).includes('me');
}

/** A node in `MANY`: `me` watches it if `isMine`, and does not watch it otherwise. */
export function oneOfMany(isMine: boolean): string {
  return MANY.find((node) => isWatched(node) === isMine) ?? '';
}
