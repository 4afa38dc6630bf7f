import { WATCHERS } from '#cluster/bounds';
import { nodesAfter } from '#cluster/ring';

/** More nodes than one watches. */
export const MANY = Array.from({ length: 12 }, (_, i) => `n${i}`);

/** Whether `me` is one of those that watch a node of many. */
export function isWatched(node: string): boolean {
  return nodesAfter(node, ['me', ...MANY], WATCHERS).includes('me');
}

/** One of many nodes that `me` watches, or that it does not. */
export function oneOfMany(isMine: boolean): string {
  return MANY.find((node) => isWatched(node) === isMine) ?? '';
}
