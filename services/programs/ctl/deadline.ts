import { CtlError } from '#ctl/command';
import type { Clock } from '#stdlib/clock';

/**
 * Default time without progress after which a command ends, in milliseconds. A command or
 * `--timeout` can override the default.
 */
export const SILENT_MS_MAX = 30_000;

/**
 * Timer delay, in milliseconds, from which this process itself must have been blocked: SQLite wrote
 * a file in this thread, or the machine slept. The deadline then restarts, because no dependency
 * caused the delay.
 */
const LATE_MS = 1_000;

/**
 * Limits the time that a command waits without progress. Progress is an answered call of a port, an
 * item of an iterable, or a printed line. Time spent waiting for a person or for the reader of
 * standard output does not count.
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

  /** Returns the result of `work`. Rejects with a `CtlError` if progress stops for too long. */
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

  /** Restarts the time without progress. */
  progressed(): void {
    this.#progressAtMs = this.#clock.monotonicMs();
  }

  /** Returns the result of `wait`. The deadline is paused meanwhile. */
  async paused<Result>(wait: () => Promise<Result>): Promise<Result> {
    this.#pauses += 1;
    try {
      return await wait();
    } finally {
      this.#pauses -= 1;
      this.progressed();
    }
  }

  /**
   * Wraps a port so that its answers count as progress. Ports opened by an `open…` method are
   * wrapped too.
   */
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
    return new CtlError(`no progress for ${seconds} s${of}: check the servers, or raise --timeout`);
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
