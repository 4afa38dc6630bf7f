import { hash } from 'node:crypto';
import type { Account } from '#accounts/account';
import type { ManagedAccounts } from '#storage/ports/accounts';

/** Does a few things at once; the first that fails is what the next call rejects with. */
export class WorkWindow {
  readonly #inFlightMax: number;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(inFlightMax: number) {
    this.#inFlightMax = inFlightMax;
  }

  /** Begins work when there is room for it; fulfils when it has begun. */
  async add(work: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#inFlightMax) await Promise.race(this.#running);
    this.#assertWhole();
    const running: Promise<void> = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Fulfils when all work has been done. */
  async end(): Promise<void> {
    await Promise.all(this.#running);
    this.#assertWhole();
  }

  #assertWhole(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/** Rows of one read: as many as a page of the API has at most. */
const ROWS_PER_READ = 1_000;

/** Rows to be read at once: `count` of them, up to the ordinal `newest`. */
export type RowPortion = { readonly newest: number; readonly count: number };

/** The portions in which the rows above the ordinal `below` and up to `total` are read, oldest first. */
export function* rowPortions(below: number, total: number): Generator<RowPortion> {
  for (let done = below; done < total; done += ROWS_PER_READ) {
    const newest = Math.min(total, done + ROWS_PER_READ);
    yield { newest, count: newest - done };
  }
}

/** Accounts of one read. */
const ACCOUNTS_PER_READ = 500;

/** All accounts, by id, read page by page: one that is made meanwhile may be left out. */
export async function* everyAccount(
  accounts: Pick<ManagedAccounts, 'list'>,
): AsyncGenerator<Account, void> {
  for (let afterId: string | undefined; ; ) {
    const page = await accounts.list({ afterId, limit: ACCOUNTS_PER_READ });
    yield* page;
    if (page.length < ACCOUNTS_PER_READ) return;
    afterId = page.at(-1)?.id;
  }
}

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
