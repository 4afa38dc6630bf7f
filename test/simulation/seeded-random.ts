import { type Randomness, randomnessFrom } from '#stdlib/randomness';

const UINT32_RANGE = 2 ** 32;

/**
 * Deterministic random numbers: sfc32 (Doty-Humphrey, PractRand), seeded by splitmix32. Simulations
 * use no other random numbers, so that a seed determines the whole run.
 */
export class SeededRandom {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    let state = seed >>> 0;
    const mixed = (): number => {
      state = (state + 0x9e3779b9) >>> 0;
      let word = state;
      word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
      return (word ^ (word >>> 15)) >>> 0;
    };
    this.#a = mixed();
    this.#b = mixed();
    this.#c = mixed();
    for (let round = 0; round < 12; round += 1) this.uint32();
  }

  /** Uniform in [0, 2^32). */
  uint32(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }

  /** Uniform in [0, 1). */
  unit(): number {
    return this.uint32() / UINT32_RANGE;
  }

  /** Uniform in [from, to). */
  between(from: number, to: number): number {
    return from + this.unit() * (to - from);
  }

  /** Uniform integer in [from, to]. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.unit() * (to - from + 1));
  }

  /** True with the given probability. Draws no number if the probability is 0. */
  happens(probability: number): boolean {
    return probability > 0 && this.unit() < probability;
  }

  /** Random item. Throws if the list is empty. */
  pick<Item>(items: readonly Item[]): Item {
    const picked = items[this.whole(0, items.length - 1)];
    if (picked === undefined) throw new Error('cannot pick from an empty list');
    return picked;
  }

  /** New generator, independent of later draws from this generator. */
  fork(): SeededRandom {
    return new SeededRandom(this.uint32());
  }
}

/** Randomness port that draws from a seeded generator. */
export function randomnessOf(random: SeededRandom): Randomness {
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => random.uint32() >>> 24);
  return randomnessFrom(bytes);
}
