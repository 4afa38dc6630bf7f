import type { Bus, Listener } from '#bus/bus';
import type { Clock } from '#stdlib/clock';

/** Options of an in-process bus. */
type InProcessBusOptions = {
  readonly clock: Clock;
  /**
   * Receives an error thrown by a listener, which is a bug. Other listeners still get the message.
   */
  readonly onBug: (error: unknown) => void;
};

/**
 * Maximum number of messages per turn. Further messages are dropped. Many times the heartbeats and
 * announcements of 256 shards.
 */
const PENDING_MESSAGES_MAX = 65_536;

/** Bus within this process. Listeners are called in a later turn of the clock. */
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
      // Subscriptions that a listener adds or disposes take effect within the same turn.
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
