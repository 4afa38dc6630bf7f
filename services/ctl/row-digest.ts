import { hash } from 'node:crypto';

/** Bits of the sum: far more than rows can collide in by chance. */
const MODULUS = 2n ** 128n;

/**
 * A digest of rows that come in any order, in a memory that does not grow with them: their count, and
 * the sum of the SHA-256 of each. It finds what was lost, doubled or changed by chance or by a mistake.
 */
export class RowDigest {
  #count = 0;
  #sum = 0n;

  /** Adds a row: plain data, in which the order of fields says nothing. */
  add(row: unknown): void {
    this.#count += 1;
    const digest = hash('sha256', canonicalJson(row)).slice(0, 32);
    this.#sum = (this.#sum + BigInt(`0x${digest}`)) % MODULUS;
  }

  /** How many rows there were. */
  get count(): number {
    return this.#count;
  }

  /** The same text for the same rows. */
  get text(): string {
    return `${this.#count} ${this.#sum.toString(16)}`;
  }
}

/** JSON in which fields stand in the order of their names. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
