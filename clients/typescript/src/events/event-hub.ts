import type { Arrived, EventFollower } from './event-follower.ts';

/** Events that one watcher may leave unread while others go on. A state has about 4,000 characters. */
export const UNREAD_MAX = 1_000;

/** One watcher of a hub: what it has not read, and how its part of the hub has ended. */
export type Watch = {
  readonly unread: Arrived[];
  /** Whether it was too slow: it goes on by itself behind the last of `unread`. */
  isCut: boolean;
  wake: (() => void) | undefined;
};

/**
 * Hands the events of one follower to several watchers. It reads when any of them has nothing left to read; a
 * watcher that is `UNREAD_MAX` events behind is cut off, so that it neither holds back the others nor takes
 * memory without a bound.
 */
export class EventHub {
  readonly #follower: EventFollower;
  readonly #events: AsyncGenerator<Arrived, void>;
  readonly #onEnd: () => void;
  readonly #watches = new Set<Watch>();
  #state: Arrived | undefined;
  #end: { readonly error?: unknown } | undefined;
  #isReading = false;

  /** `onEnd`: called when the hub takes no more watchers. */
  constructor(follower: EventFollower, onEnd: () => void) {
    this.#follower = follower;
    this.#events = follower.events();
    this.#onEnd = onEnd;
  }

  /** A new watcher. Its first event is the newest state, if one has come. */
  watch(): Watch {
    const unread = this.#state === undefined ? [] : [this.#state];
    const watch: Watch = { unread, isCut: false, wake: undefined };
    this.#watches.add(watch);
    return watch;
  }

  /** Ends a watcher; the connection ends with the last one. */
  leave(watch: Watch): void {
    this.#watches.delete(watch);
    wake(watch);
    if (this.#watches.size === 0) this.#finish({});
  }

  /**
   * The next event of a watcher; undefined where it was cut off, has left, or nothing follows. Throws what the
   * follower throws.
   */
  async next(watch: Watch): Promise<Arrived | undefined> {
    for (;;) {
      const arrived = watch.unread.shift();
      if (arrived !== undefined) return arrived;
      if (!this.#watches.has(watch)) return undefined;
      if (this.#end !== undefined) {
        if ('error' in this.#end) throw this.#end.error;
        return undefined;
      }
      const woken = new Promise<void>((resolve) => {
        watch.wake = resolve;
      });
      void this.#read();
      await woken;
    }
  }

  /** Reads one event after the other while any watcher waits. Never rejects. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#end === undefined && [...this.#watches].some(({ wake }) => wake !== undefined)) {
        const { done, value } = await this.#events.next();
        if (done) this.#finish({});
        else this.#handOut(value);
      }
    } catch (error) {
      this.#finish({ error });
    } finally {
      this.#isReading = false;
    }
  }

  #handOut(arrived: Arrived): void {
    if (arrived.event.type === 'state') this.#state = arrived;
    for (const watch of this.#watches) {
      if (watch.unread.length >= UNREAD_MAX) {
        watch.isCut = true;
        this.#watches.delete(watch);
        continue;
      }
      watch.unread.push(arrived);
      wake(watch);
    }
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#follower.close();
    void this.#events.return().catch(() => undefined);
    this.#onEnd();
    for (const watch of this.#watches) wake(watch);
  }
}

function wake(watch: Watch): void {
  const { wake: woken } = watch;
  watch.wake = undefined;
  woken?.();
}
