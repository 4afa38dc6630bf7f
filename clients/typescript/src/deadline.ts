import { onAbort } from './abort.ts';

/**
 * The time that one call has, and what ends it before: the caller's own signal. Its `signal` is aborted by
 * either; `hasPassed` says which.
 */
export class Deadline {
  readonly timeoutMs: number;
  readonly #endsAtMs: number;
  readonly #callerSignal: AbortSignal | undefined;

  constructor(timeoutMs: number, callerSignal: AbortSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.#endsAtMs = performance.now() + timeoutMs;
    this.#callerSignal = callerSignal;
  }

  /** Milliseconds left; 0 when it has passed. */
  leftMs(): number {
    return Math.max(0, this.#endsAtMs - performance.now());
  }

  /** Throws the reason of the caller's signal, if it is aborted. */
  throwIfCancelled(): void {
    this.#callerSignal?.throwIfAborted();
  }

  /**
   * Runs `work` with a signal that is aborted after `ms` or by the caller, and rejects then with its reason, also
   * where `work` does not. Leaves neither a timer nor a listener behind.
   */
  async limit<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    let end = (_reason: unknown): void => {};
    const cancel = () => end(this.#callerSignal?.reason);
    const timer = setTimeout(() => end(TIMED_OUT), ms);
    const unlink = this.#callerSignal && onAbort(this.#callerSignal, cancel);
    try {
      return await new Promise<T>((resolve, reject) => {
        end = (reason) => {
          controller.abort(reason);
          reject(reason);
        };
        work(controller.signal).then(resolve, reject);
      });
    } finally {
      clearTimeout(timer);
      unlink?.();
    }
  }

  /** Waits `ms` milliseconds; rejects with the reason of the caller's signal if that is aborted. */
  async pause(ms: number): Promise<void> {
    this.throwIfCancelled();
    const signal = this.#callerSignal;
    await new Promise<void>((resolve, reject) => {
      const cancel = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        unlink?.();
        resolve();
      }, ms);
      const unlink = signal && onAbort(signal, cancel);
    });
  }
}

/** The reason of a signal whose time is over. */
export const TIMED_OUT = Symbol('timed out');
