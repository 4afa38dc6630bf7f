import type { Bus, Listener } from '#bus/bus';
import type { Clock } from '#platform/clock';

/** What the bus of one process takes. */
type InProcessBusOptions = {
  readonly clock: Clock;
  /** Receives what a listener threw, a bug. The other listeners hear the message all the same. */
  readonly onBug: (error: unknown) => void;
};

/** Messages of one turn; more are dropped. A heartbeat and an announcement of 256 shards, many times. */
const PENDING_MESSAGES_MAX = 65_536;

/** A bus whose listeners are all in this process. They hear a message in a later turn of the clock. */
export function inProcessBus({ clock, onBug }: InProcessBusOptions): Bus {
  const listeners = new Map<string, Set<{ readonly hear: Listener }>>();
  let pending: { readonly subject: string; readonly message: Uint8Array }[] = [];
  let turn: Disposable | undefined;
  let isOpen = true;

  function deliver(): void {
    const delivered = pending;
    pending = [];
    turn = undefined;
    for (const { subject, message } of delivered) {
      // What a listener disposes or adds on the way counts for the rest of the turn.
      for (const { hear } of listeners.get(subject) ?? []) {
        try {
          hear(message);
        } catch (error) {
          onBug(error);
        }
      }
    }
  }

  return {
    get isConnected() {
      return isOpen;
    },
    publish(subject, message) {
      if (!isOpen || pending.length >= PENDING_MESSAGES_MAX) return;
      pending.push({ subject, message: message.slice() });
      turn ??= clock.after(0, deliver);
    },
    subscribe(subject, hear) {
      const listener = { hear };
      const heard = listeners.get(subject) ?? new Set();
      listeners.set(subject, heard.add(listener));
      return {
        [Symbol.dispose]() {
          heard.delete(listener);
          if (heard.size === 0 && listeners.get(subject) === heard) listeners.delete(subject);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      isOpen = false;
      turn?.[Symbol.dispose]();
      pending = [];
      listeners.clear();
    },
  };
}
