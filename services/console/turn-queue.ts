import { faultFor } from '#fault/fault';

/** Runs tasks, some at once and the others in turn; with a full queue a task is refused (503). */
export class TurnQueue {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits: { readonly atOnce: number; readonly waitingMax: number }) {
    this.#atOnce = limits.atOnce;
    this.#waitingMax = limits.waitingMax;
  }

  /** What the task comes to, once it has had its turn. Rejects with `overloaded` when none is left. */
  async run<Value>(task: () => Promise<Value>): Promise<Value> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#waitingMax) {
        throw faultFor('overloaded', 'too many passwords at once', { retryAfterS: 1 });
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    } else this.#running += 1;
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
