import type { Chance } from '#test/chaos/faults/chance';

/** Shares of unsynced data that survive a power loss, and the size of a sector group. */
export type Survival = {
  /** Share of sector groups with their newest content. */
  readonly newest: number;
  /** Share of the other sector groups without any unsynced change. */
  readonly unchanged: number;
  /** Number of sectors in a group, 1 or more. A disk writes a group atomically. */
  readonly together: number;
};

/** Only synced data survives. */
export const SYNCED_ONLY: Survival = { newest: 0, unchanged: 1, together: 1 };

/** All data survives, as after kill -9. */
const ALL = 1;

/** Draws the shares of unsynced data that survive: possibly none, possibly all. */
export function drawSurvival(chance: Chance): Survival {
  return {
    newest: chance.pick([0, 0.5, 0.9, 0.99, ALL]) ?? 0,
    unchanged: chance.pick([0, 0.5, 1]) ?? 0,
    together: chance.pick([1, 8, 64]) ?? 1,
  };
}

/** Draws how many changes of a group reached the disk. The oldest changes reach the disk first. */
export function survivingChanges(
  changes: number,
  { newest, unchanged }: Survival,
  chance: Chance,
): number {
  if (chance.happens(newest)) return changes;
  return chance.happens(unchanged) ? 0 : chance.below(changes + 1);
}
