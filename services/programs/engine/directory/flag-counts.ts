import { DRIFT_LEVELS } from '#identity/drift';
import { STRESS_STATES } from '#identity/state';
import { type Flags, LEADING_MODES, levelIn, modeIn, stressIn } from '#identity/transitions';

/** Flags of an instance that are not known yet. */
export const UNKNOWN_FLAGS = -1;

/** Stress state and drift level in flags, and the place of the mode beside them. */
const LEVELS_BITS = 0b1111;
const MODE_PLACE = 4;
const COMBINATIONS = LEADING_MODES.length << MODE_PLACE;

/** Number of instances by value. The sum of each list, with `unknown`, is the total. */
export type Facets = {
  readonly stress: readonly number[];
  readonly drift: readonly number[];
  readonly modes: readonly number[];
  /** Instances whose flags are not known: just created, or with a damaged head. */
  readonly unknown: number;
};

/** Counters of an account's instances by stress state, drift level and leading mode. */
export class FlagCounts {
  readonly #stress = new Array<number>(STRESS_STATES.length).fill(0);
  readonly #drift = new Array<number>(DRIFT_LEVELS.length).fill(0);
  readonly #modes = new Array<number>(LEADING_MODES.length).fill(0);

  /** Adds or removes an instance. Skips flags that are unknown or damaged, which are negative. */
  add(flags: Flags, sign: 1 | -1): void {
    if (flags < 0) return;
    addAt(this.#stress, stressIn(flags), sign);
    addAt(this.#drift, levelIn(flags), sign);
    addAt(this.#modes, modeIn(flags), sign);
  }

  /**
   * Counts the flags of all instances again. Returns whether the counters were right. Takes a few
   * milliseconds for a million instances.
   */
  recount(allFlags: Int32Array): boolean {
    const before = this.#all().join();
    const combined = new Uint32Array(COMBINATIONS);
    // An iterator would take several times as long.
    for (let slot = 0; slot < allFlags.length; slot += 1) {
      const flags = allFlags[slot] as number;
      if (flags < 0) continue;
      const place = (flags & LEVELS_BITS) | (modeIn(flags) << MODE_PLACE);
      combined[place] = (combined[place] as number) + 1;
    }
    for (const counts of this.#all()) counts.fill(0);
    for (const [place, count] of combined.entries()) {
      addAt(this.#stress, stressIn(place), count);
      addAt(this.#drift, levelIn(place), count);
      addAt(this.#modes, place >>> MODE_PLACE, count);
    }
    return this.#all().join() === before;
  }

  /** Counts of the instances of a listing with `total` rows. */
  facets(total: number): Facets {
    const known = this.#stress.reduce((sum, count) => sum + count, 0);
    return {
      stress: [...this.#stress],
      drift: [...this.#drift],
      modes: [...this.#modes],
      unknown: total - known,
    };
  }

  #all() {
    return [this.#stress, this.#drift, this.#modes];
  }
}

function addAt(counts: number[], place: number, by: number): void {
  counts[place] = (counts[place] ?? 0) + by;
}
