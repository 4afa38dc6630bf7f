import { faultFor } from '#errors/fault';
import type { Clock } from '#stdlib/clock';

/** Cache bounds. */
type Keeping = {
  /** Maximum results computed concurrently. */
  readonly atOnce: number;
  /** Maximum callers waiting for one result. */
  readonly waitingMax: number;
  /** Maximum cached results. Must exceed `atOnce`. */
  readonly keptMax: number;
  /** Time a result stays cached, in milliseconds. */
  readonly keptMs: number;
};

type Entry<Value> = {
  readonly result: Promise<Value>;
  waiting: number;
  /** Expiry on the monotonic clock. Undefined while the result is being computed. */
  keptUntilMs?: number;
};

/**
 * Cache for expensive results. Concurrent callers with the same key share one computation, and a
 * result is reused until it expires.
 */
export class KeptResults<Value> {
  readonly #clock: Clock;
  readonly #bounds: Keeping;
  /** Entries, oldest first, so that the oldest entries can be evicted. */
  readonly #entries = new Map<string, Entry<Value>>();
  #running = 0;

  constructor(clock: Clock, bounds: Keeping) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /**
   * Returns the cached result of `key`, joins a running computation, or calls `make`. Throws
   * `overloaded` if too many results are being computed, or if too many callers wait for this
   * result. Rejections are not cached.
   */
  async of(key: string, make: () => Promise<Value>): Promise<Value> {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#entries.get(key);
    if (known !== undefined && nowMs < (known.keptUntilMs ?? Number.POSITIVE_INFINITY)) {
      return await this.#waitedFor(known);
    }
    if (this.#running >= this.#bounds.atOnce) throw overloaded();
    const entry: Entry<Value> = { result: make(), waiting: 0 };
    // Reinserted as the newest entry.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#forget(nowMs);
    this.#running += 1;
    try {
      const value = await this.#waitedFor(entry);
      entry.keptUntilMs = this.#clock.monotonicMs() + this.#bounds.keptMs;
      return value;
    } catch (error) {
      this.#entries.delete(key);
      throw error;
    } finally {
      this.#running -= 1;
    }
  }

  async #waitedFor(entry: Entry<Value>): Promise<Value> {
    if (entry.waiting >= this.#bounds.waitingMax) throw overloaded();
    entry.waiting += 1;
    try {
      return await entry.result;
    } finally {
      entry.waiting -= 1;
    }
  }

  /** Evicts expired entries, and the oldest entries beyond `keptMax`. Running computations stay. */
  #forget(nowMs: number): void {
    for (const [key, { keptUntilMs }] of this.#entries) {
      if (keptUntilMs === undefined) continue;
      if (keptUntilMs <= nowMs || this.#entries.size > this.#bounds.keptMax) {
        this.#entries.delete(key);
      }
    }
  }
}

function overloaded(): Error {
  return faultFor('overloaded', 'too many usage reports in flight', { retryAfterS: 2 });
}
