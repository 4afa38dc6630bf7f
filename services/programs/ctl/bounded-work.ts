import { hash } from 'node:crypto';
import type { Account } from '#accounts/account';
import type { ManagedAccounts } from '#storage/ports/accounts';

/**
 * Runs a bounded number of tasks concurrently. After a failure, the next call rejects with the
 * first error.
 */
export class WorkWindow {
  readonly #inFlightMax: number;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(inFlightMax: number) {
    this.#inFlightMax = inFlightMax;
  }

  /** Starts a task as soon as fewer than the maximum run. Resolves when the task has started. */
  async add(work: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#inFlightMax) await Promise.race(this.#running);
    this.#throwFailure();
    const running: Promise<void> = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all tasks are done. */
  async end(): Promise<void> {
    await Promise.all(this.#running);
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/** Rows per read, as many as an API page. */
const ROWS_PER_READ = 1_000;

/** A range of rows to read: `count` rows, up to the ordinal `newest`. */
export type RowPortion = { readonly newest: number; readonly count: number };

/** Yields the portions of rows above the ordinal `below` and up to `total`, oldest first. */
export function* rowPortions(below: number, total: number): Generator<RowPortion> {
  for (let done = below; done < total; done += ROWS_PER_READ) {
    const newest = Math.min(total, done + ROWS_PER_READ);
    yield { newest, count: newest - done };
  }
}

/** Accounts per read. */
const ACCOUNTS_PER_READ = 500;

/** Yields all accounts in id order. Accounts created during the iteration may be missing. */
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

/** Modulus of the hash sum: 128 bits rule out accidental collisions in practice. */
const MODULUS = 2n ** 128n;

/**
 * Order-independent row digest in constant memory: row count, and sum of the SHA-256 hashes.
 * Detects rows that were lost, duplicated or changed by accident.
 */
export class RowDigest {
  #count = 0;
  #sum = 0n;

  /** Adds a row with plain data, in any field order. */
  add(row: unknown): void {
    this.#count += 1;
    const digest = hash('sha256', canonicalJson(row)).slice(0, 32);
    this.#sum = (this.#sum + BigInt(`0x${digest}`)) % MODULUS;
  }

  /** Number of rows. */
  get count(): number {
    return this.#count;
  }

  /** Text of the digest, equal for equal rows. */
  get text(): string {
    return `${this.#count} ${this.#sum.toString(16)}`;
  }
}

/** JSON with fields sorted by name. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
