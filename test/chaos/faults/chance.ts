/** Seeded pseudo-random numbers (mulberry32) for loads, not for secrets. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** The next number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A random integer in [0, `end`). */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True with the given probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** A random item; undefined if the list is empty. */
  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)];
  }

  /** A UUIDv7 for the time `wallMs` in Unix milliseconds. */
  uuidV7(wallMs: number): string {
    const time = Math.floor(wallMs).toString(16).padStart(12, '0');
    const digits = (count: number) =>
      Array.from({ length: count }, () => this.below(16).toString(16)).join('');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${digits(3)}-8${digits(3)}-${digits(12)}`;
  }
}
