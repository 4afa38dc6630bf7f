import { faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';

/** Calls that wait for something to happen, per process: those of eight edges (decision 244). */
const WAITERS_MAX = 16_384;

/** A call that watches an instance, from before it looks at it. */
export type Watch = Disposable & {
  /**
   * Fulfils with true as soon as anything has happened since the watch began or last said so, and with
   * false after `ms` without.
   */
  change(ms: number): Promise<boolean>;
};

type Waiter = {
  readonly shard: number;
  hasChanged: boolean;
  /** Set while the call waits. */
  wake: (() => void) | undefined;
};

/**
 * The calls that wait for something to happen to an instance. They hold neither its turn nor a place in
 * its mailbox; a call that is woken asks the instance again. A commit wakes before it is durable: what is
 * asked then waits for that like any answer. Source: decision 244.
 */
export class EventWaiters {
  readonly #clock: Clock;
  readonly #ofInstance = new Map<string, Set<Waiter>>();
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many calls watch an instance. */
  get size(): number {
    return this.#size;
  }

  /** Something was committed. On the hot path: cheap while no call waits. */
  changed(instanceId: string): void {
    if (this.#size === 0) return;
    for (const waiter of this.#ofInstance.get(instanceId) ?? []) notify(waiter);
  }

  /** A shard, or every one, is served here no longer: those who ask again hear who serves it. */
  left(shard: number | undefined): void {
    for (const waiters of this.#ofInstance.values()) {
      for (const waiter of waiters) {
        if (shard === undefined || waiter.shard === shard) notify(waiter);
      }
    }
  }

  /** Begins to watch an instance. Throws `overloaded` when too many do. */
  watch(instanceId: string, shard: number): Watch {
    if (this.#size >= WAITERS_MAX) {
      throw faultFor('overloaded', 'too many calls wait for events', { retryAfterS: 1 });
    }
    const waiter: Waiter = { shard, hasChanged: false, wake: undefined };
    const waiters = this.#ofInstance.get(instanceId) ?? new Set();
    this.#ofInstance.set(instanceId, waiters.add(waiter));
    this.#size += 1;
    return {
      change: (ms) => changeOf(waiter, ms, this.#clock),
      [Symbol.dispose]: () => {
        if (!waiters.delete(waiter)) return;
        this.#size -= 1;
        if (waiters.size === 0) this.#ofInstance.delete(instanceId);
      },
    };
  }
}

function notify(waiter: Waiter): void {
  waiter.hasChanged = true;
  waiter.wake?.();
}

async function changeOf(waiter: Waiter, ms: number, clock: Clock): Promise<boolean> {
  if (!waiter.hasChanged) {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiter.wake = resolve;
    using _timer = clock.after(ms, resolve);
    await promise;
    waiter.wake = undefined;
  }
  const { hasChanged } = waiter;
  waiter.hasChanged = false;
  return hasChanged;
}
