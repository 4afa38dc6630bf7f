import type { Chance } from '#test/chaos/faults/chance';

/** Luck of unsynced data in a power loss. */
export type Luck = {
  /**
   * Share of sectors with their newest content; `unchanged`: share of the others without any
   * change.
   */
  readonly newest: number;
  readonly unchanged: number;
  /** Number of sectors written together, 1 or more. */
  readonly together: number;
};

/** Only synced data is on the disk. */
export const WORST_LUCK: Luck = { newest: 0, unchanged: 1, together: 1 };

/** All data is on the disk, as after kill -9. */
const BEST = 1;

/** Random luck, including the worst and the best. */
export function drawnLuck(chance: Chance): Luck {
  return {
    newest: chance.pick([0, 0.5, 0.9, 0.99, BEST]) ?? 0,
    unchanged: chance.pick([0, 0.5, 1]) ?? 0,
    together: chance.pick([1, 8, 64]) ?? 1,
  };
}

/** Number of changes that reached the disk, from the first on. */
export function cameThrough(changes: number, { newest, unchanged }: Luck, chance: Chance): number {
  if (chance.happens(newest)) return changes;
  return chance.happens(unchanged) ? 0 : chance.below(changes + 1);
}
