import { onAbort } from '../calls/abort.ts';
import { IdentityEngineError } from '../errors.ts';
import type { Item } from './batch.ts';

/** The buffer was closed. */
export class BufferClosedError extends IdentityEngineError {
  constructor() {
    super('the buffer is closed');
  }
}

type Waiter = { readonly resolve: () => void; readonly reject: (error: unknown) => void };
type Flush = Waiter & { readonly upTo: number; left: number };

/** Counts pending observations, and queues callers that wait for space or for a flush. */
export class Backlog {
  readonly #max: number;
  readonly #adds: Waiter[] = [];
  readonly #flushes = new Set<Flush>();
  #held = 0;
  #ordinal = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Number of observations held, including reserved places. */
  get held(): number {
    return this.#held;
  }

  /** Ordinal of the newest observation. */
  get newest(): number {
    return this.#ordinal;
  }

  /** Returns the ordinal for the next observation. */
  nextOrdinal(): number {
    this.#ordinal += 1;
    return this.#ordinal;
  }

  /** Takes places immediately, beyond the bound if necessary. */
  take(count: number): void {
    this.#held += count;
  }

  /**
   * Waits for a place in FIFO order, then calls `enter` in the same event-loop step, so that no
   * later caller overtakes this caller.
   */
  async enter(enter: () => void, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#adds.length === 0 && this.#held < this.#max) {
      this.#held += 1;
      enter();
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#adds.splice(this.#adds.indexOf(waiter), 1);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        resolve: () => {
          unlink?.();
          enter();
          resolve();
        },
        reject: (error) => {
          unlink?.();
          reject(error);
        },
      };
      const unlink = signal && onAbort(signal, leave);
      this.#adds.push(waiter);
    });
  }

  /** Resolves when `left` more of the observations added so far have finished. */
  async done(left: number): Promise<void> {
    if (left === 0) return;
    await new Promise<void>((resolve, reject) => {
      this.#flushes.add({ upTo: this.#ordinal, left, resolve, reject });
    });
  }

  /** Returns an unused place. */
  giveBack(): void {
    this.#held -= 1;
    this.settle([]);
  }

  /** Finishes observations and gives their places to the longest waiting callers. */
  settle(items: readonly Item[]): void {
    this.#held -= items.length;
    this.pass(items);
    while (this.#held < this.#max && this.#adds.length > 0) {
      this.#held += 1;
      this.#adds.shift()?.resolve();
    }
  }

  /** Excludes observations from all waiting flushes. The observations keep their places. */
  pass(items: readonly Pick<Item, 'ordinal'>[]): void {
    for (const flush of this.#flushes) {
      for (const { ordinal } of items) if (ordinal <= flush.upTo) flush.left -= 1;
      if (flush.left > 0) continue;
      this.#flushes.delete(flush);
      flush.resolve();
    }
  }

  /**
   * Rejects all callers waiting for space, and with `isFlushOver` also the callers waiting for a
   * flush.
   */
  end(reason: unknown, isFlushOver: boolean): void {
    for (const { reject } of this.#adds.splice(0)) reject(reason);
    if (!isFlushOver) return;
    for (const { reject } of this.#flushes) reject(reason);
    this.#flushes.clear();
  }
}
