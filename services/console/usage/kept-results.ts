import { faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';

/** Bounds of what is made and kept. */
type Keeping = {
  /** Results that are made at once, each for one key. */
  readonly atOnce: number;
  /** Callers who wait for one result at once. */
  readonly waitingMax: number;
  /** Results that are kept; must be more than `atOnce`. */
  readonly keptMax: number;
  /** How long a result is kept, in milliseconds. */
  readonly keptMs: number;
};

type Entry<Value> = {
  readonly result: Promise<Value>;
  waiting: number;
  /** By the monotonic clock; undefined: it is being made. */
  keptUntilMs?: number;
};

/** Results that are dear to make: one at a time for each key, given to all who ask for it a while. */
export class KeptResults<Value> {
  readonly #clock: Clock;
  readonly #bounds: Keeping;
  /** The oldest first. */
  readonly #entries = new Map<string, Entry<Value>>();
  #running = 0;

  constructor(clock: Clock, bounds: Keeping) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /**
   * What `make` comes to, or came to for another caller with this key who is waiting or was here
   * within `keptMs`. Throws `overloaded` where too many are being made, or wait for this one; a
   * rejection is not kept.
   */
  async of(key: string, make: () => Promise<Value>): Promise<Value> {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#entries.get(key);
    if (known !== undefined && nowMs < (known.keptUntilMs ?? Number.POSITIVE_INFINITY)) {
      return await this.#waitedFor(known);
    }
    if (this.#running >= this.#bounds.atOnce) throw overloaded();
    const entry: Entry<Value> = { result: make(), waiting: 0 };
    // Behind all others, as the newest.
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

  /** Drops what is over, and the oldest beyond the bound; never what is being made. */
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
  return faultFor('overloaded', 'too many such questions at once', { retryAfterS: 2 });
}
