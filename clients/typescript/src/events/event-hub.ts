import type { Arrived, EventFollower } from './event-follower.ts';
import type { InstanceEvent } from './instance-event.ts';

/** Maximum unread events per watcher. A state event has about 4,000 characters. */
export const UNREAD_MAX = 1_000;

/** One watcher of a hub. */
export type Watch = {
  readonly unread: Arrived<InstanceEvent>[];
  /**
   * Whether the watcher was too slow. The watcher then continues over its own stream after
   * `unread`.
   */
  isCut: boolean;
  wake: (() => void) | undefined;
};

/**
 * Distributes a follower's events to several watchers. Reads an event when a watcher waits for one.
 * A watcher that falls `UNREAD_MAX` events behind is cut off: a slow watcher must neither block the
 * others nor use unbounded memory.
 */
export class EventHub {
  readonly #follower: EventFollower<InstanceEvent>;
  readonly #events: AsyncGenerator<Arrived<InstanceEvent>, void>;
  readonly #onEnd: () => void;
  readonly #watches = new Set<Watch>();
  #state: Arrived<InstanceEvent> | undefined;
  #end: { readonly error?: unknown } | undefined;
  #isReading = false;

  /** `onEnd`: called when the hub accepts no more watchers. */
  constructor(follower: EventFollower<InstanceEvent>, onEnd: () => void) {
    this.#follower = follower;
    this.#events = follower.events();
    this.#onEnd = onEnd;
  }

  /** Adds a watcher, which starts with the newest state if one has arrived. */
  watch(): Watch {
    const unread = this.#state === undefined ? [] : [this.#state];
    const watch: Watch = { unread, isCut: false, wake: undefined };
    this.#watches.add(watch);
    return watch;
  }

  /** Removes a watcher. Without watchers, the hub closes the connection. */
  leave(watch: Watch): void {
    this.#watches.delete(watch);
    wake(watch);
    if (this.#watches.size === 0) this.#finish({});
  }

  /**
   * Returns the next event of a watcher. Undefined if the watcher was cut off or left, or if the
   * stream has ended. Throws the follower's errors.
   */
  async next(watch: Watch): Promise<Arrived<InstanceEvent> | undefined> {
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

  /** Reads events while any watcher waits. Never rejects. */
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

  #handOut(arrived: Arrived<InstanceEvent>): void {
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
