import { faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { WAITING_CALLS_MAX } from '#routing/routing-bounds';

/** What a call waits for besides its time: news of a shard, or of an address. */
type Awaited = {
  readonly shard: number | undefined;
  readonly address: string | undefined;
};

type Waiter = Awaited & { readonly wake: () => void };

/** The calls that pause before their next try. */
export class WaitingCalls {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many calls wait. */
  get size(): number {
    return this.#waiters.size;
  }

  /**
   * Fulfils after `delayMs`, or sooner when what is awaited wakes. Rejects at once with
   * `overloaded` when too many wait already.
   */
  wait(delayMs: number, awaited: Awaited): Promise<void> {
    if (this.#waiters.size >= WAITING_CALLS_MAX) {
      const text = 'too many calls wait already';
      return Promise.reject(faultFor('overloaded', text, { retryAfterS: 1 }));
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        timer[Symbol.dispose]();
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter: Waiter = { ...awaited, wake };
      const timer = this.#clock.after(delayMs, wake);
      this.#waiters.add(waiter);
    });
  }

  /** The shard has another owner. */
  wakeShard(shard: number): void {
    for (const waiter of this.#waiters) if (waiter.shard === shard) waiter.wake();
  }

  /** The node at the address can be asked. */
  wakeAddress(address: string): void {
    for (const waiter of this.#waiters) if (waiter.address === address) waiter.wake();
  }

  /** Ends every wait. */
  wakeAll(): void {
    for (const waiter of this.#waiters) waiter.wake();
  }
}
