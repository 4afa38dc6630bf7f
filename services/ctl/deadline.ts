import { CtlError } from '#ctl/command';
import type { Clock } from '#platform/clock';

/** Milliseconds without progress after which a command ends, unless it or `--timeout` says otherwise. */
export const SILENT_MS_MAX = 30_000;

/**
 * A timer that fires this late was held up by the program itself: SQLite was writing a file in this
 * thread, or the machine slept. No dependency is to blame then. Milliseconds.
 */
const LATE_MS = 1_000;

/**
 * Bounds the time that a command waits without progress. A call of a port that is answered, an item
 * of a list and a line that is printed are progress. Waiting for a person, or for the reader of
 * standard output, does not count.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #silentMsMax: number;
  readonly #unanswered = new Set<{ readonly call: string }>();
  #progressAtMs: number;
  #pauses = 0;

  constructor(clock: Clock, silentMsMax: number) {
    this.#clock = clock;
    this.#silentMsMax = silentMsMax;
    this.#progressAtMs = clock.monotonicMs();
  }

  /** The result of `work`. Rejects with a `CtlError` after too long without progress. */
  async bound<Result>(work: Promise<Result>): Promise<Result> {
    const { promise: expired, reject } = Promise.withResolvers<never>();
    let timer: Disposable | undefined;
    const wait = (delayMs: number) => {
      const dueMs = this.#clock.monotonicMs() + delayMs;
      timer = this.#clock.after(delayMs, () => {
        const nowMs = this.#clock.monotonicMs();
        if (this.#pauses > 0 || nowMs - dueMs > LATE_MS) this.#progressAtMs = nowMs;
        const leftMs = this.#progressAtMs + this.#silentMsMax - nowMs;
        if (leftMs > 0) wait(leftMs);
        else reject(this.#expired());
      });
    };
    wait(this.#silentMsMax);
    try {
      return await Promise.race([work, expired]);
    } finally {
      timer?.[Symbol.dispose]();
    }
  }

  /** Begins the time without progress again. */
  progressed(): void {
    this.#progressAtMs = this.#clock.monotonicMs();
  }

  /** The result of a wait for a person or a reader, during which the deadline is paused. */
  async paused<Result>(wait: () => Promise<Result>): Promise<Result> {
    this.#pauses += 1;
    try {
      return await wait();
    } finally {
      this.#pauses -= 1;
      this.progressed();
    }
  }

  /** The same port; its answers are progress, as are those of the ports that it opens. */
  watched<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value === 'function') {
          return (...args: unknown[]) =>
            this.#watchedResult(
              typeof key === 'symbol' ? 'close' : key,
              Reflect.apply(value, target, args),
            );
        }
        const isPort = typeof value === 'object' && value !== null;
        return isPort && !(value instanceof AbortSignal) ? this.watched(value) : value;
      },
    });
  }

  #watchedResult(call: string, result: unknown): unknown {
    if (result instanceof Promise) {
      const answered = this.#answered(call, result);
      if (!call.startsWith('open')) return answered;
      return answered.then((opened: object) => this.watched(opened));
    }
    if (isAsyncIterable(result)) return this.#items(call, result);
    return result;
  }

  async #answered<Result>(call: string, result: Promise<Result>): Promise<Result> {
    const entry = { call };
    this.#unanswered.add(entry);
    try {
      const answer = await result;
      this.progressed();
      return answer;
    } finally {
      this.#unanswered.delete(entry);
    }
  }

  async *#items(call: string, items: AsyncIterable<unknown>): AsyncGenerator<unknown> {
    const iterator = items[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await this.#answered(call, Promise.resolve(iterator.next()));
        if (done === true) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }

  #expired(): CtlError {
    const [oldest] = this.#unanswered;
    const of = oldest === undefined ? '' : ` (waiting for "${oldest.call}")`;
    const seconds = this.#silentMsMax / 1_000;
    return new CtlError(
      `no progress for ${seconds} s${of}: look at the servers, or give it more time with --timeout`,
    );
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
