import { onAbort } from './abort.ts';

/** Deadline of a call, combined with the caller's abort signal. */
export class Deadline {
  readonly timeoutMs: number;
  readonly #endsAtMs: number;
  readonly #callerSignal: AbortSignal | undefined;

  constructor(timeoutMs: number, callerSignal: AbortSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.#endsAtMs = performance.now() + timeoutMs;
    this.#callerSignal = callerSignal;
  }

  /** Milliseconds until the deadline; 0 when passed. */
  leftMs(): number {
    return Math.max(0, this.#endsAtMs - performance.now());
  }

  /** Throws the caller's abort reason if the caller has aborted the call. */
  throwIfCancelled(): void {
    this.#callerSignal?.throwIfAborted();
  }

  /**
   * Runs `work` with a signal that is aborted after `ms` or by the caller. Rejects with the
   * signal's reason when aborted, even if `work` ignores the signal. Removes its timer and
   * listener.
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

  /** Waits `ms` milliseconds. Rejects with the caller's abort reason if the caller aborts. */
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

/** Abort reason of a timeout. */
export const TIMED_OUT = Symbol('timed out');
