import type { Chance } from '#test/chaos/chance';

/** How much of what was not synced has come to the disk all the same. */
export type Luck = {
  /** The share of sectors with their newest content, and of the others the share without any change. */
  readonly newest: number;
  readonly unchanged: number;
  /** Sectors that come to the disk together, 1 or more. */
  readonly together: number;
};

/** Nothing but what was synced is on the disk. */
export const WORST_LUCK: Luck = { newest: 0, unchanged: 1, together: 1 };

/** Everything is on the disk, as after kill -9. */
const BEST = 1;

/** Any luck, the worst and the best among them. */
export function drawnLuck(chance: Chance): Luck {
  return {
    newest: chance.pick([0, 0.5, 0.9, 0.99, BEST]) ?? 0,
    unchanged: chance.pick([0, 0.5, 1]) ?? 0,
    together: chance.pick([1, 8, 64]) ?? 1,
  };
}

/** How many of the changes of a place have come to the disk: the first ones. */
export function cameThrough(changes: number, { newest, unchanged }: Luck, chance: Chance): number {
  if (chance.happens(newest)) return changes;
  return chance.happens(unchanged) ? 0 : chance.below(changes + 1);
}
