import { FrameLink, type LinkOptions } from '#wire/frame-link';
import { BACKOFF_BASE_MS, BACKOFF_CAP_MS } from '#wire/wire-bounds';

/** What a connection reports to its owner. */
interface ConnectionEvents {
  onOpen(): void;
  /** Throws when the frame is garbage: then the stream is closed and opened again. */
  onFrame(frame: Uint8Array): void;
  onDrain(): void;
  /** What was open, or was to be, is gone. The next attempt comes by itself. */
  onLost(cause: unknown): void;
}

/** Where a connection leads, and what it takes from outside. */
type ConnectionOptions = LinkOptions & {
  /** Uniform in [0, 1). */
  readonly random: () => number;
};

/**
 * The longest wait before attempt number `failures + 1`, in milliseconds. The real wait is a
 * uniform part of it (full jitter), so that many clients of one lost server do not come back as
 * one.
 */
export function backoffCeilingMs(failures: number): number {
  return Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** failures);
}

/** A link that comes back: opened at once, and again after every loss until disposed. */
export class FrameConnection implements Disposable {
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  #link: FrameLink | undefined;
  #retry: Disposable | undefined;
  #opening = Promise.withResolvers<void>();
  #isOpen = false;
  #isDisposed = false;
  #openedAtMs = 0;
  #failures = 0;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    // A connection that no caller waits for is no unhandled rejection.
    this.#opening.promise.catch(() => undefined);
    this.#connect();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Settles when the connection is open; rejects when it is disposed first. */
  ready(): Promise<void> {
    return this.#opening.promise;
  }

  /** Sends a frame. False: send no more before `onDrain`. Only while open. */
  write(frame: Buffer): boolean {
    return this.#link?.write(frame) ?? false;
  }

  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#retry?.[Symbol.dispose]();
    this.#link?.[Symbol.dispose]();
    this.#opening.reject(new Error('the connection has been closed'));
  }

  #connect(): void {
    this.#link = new FrameLink(this.#options, {
      onOpen: () => this.#opened(),
      onFrame: (frame) => this.#receive(frame),
      onDrain: () => this.#events.onDrain(),
      onClose: (cause) => this.#lost(cause),
    });
  }

  #opened(): void {
    this.#isOpen = true;
    this.#openedAtMs = this.#options.clock.monotonicMs();
    this.#events.onOpen();
    this.#opening.resolve();
  }

  #receive(frame: Uint8Array): void {
    try {
      this.#events.onFrame(frame);
    } catch (error) {
      this.#link?.close(error);
    }
  }

  // Only a connection that has lasted starts the back-off again: a peer that accepts us and breaks
  // the stream at once is as bad as one that is not there.
  #lost(cause: unknown): void {
    const { clock, random } = this.#options;
    if (this.#isOpen) {
      if (clock.monotonicMs() - this.#openedAtMs >= BACKOFF_CAP_MS) this.#failures = 0;
      this.#isOpen = false;
      this.#opening = Promise.withResolvers<void>();
      this.#opening.promise.catch(() => undefined);
    }
    this.#link = undefined;
    this.#events.onLost(cause);
    if (this.#isDisposed) return;
    const delayMs = random() * backoffCeilingMs(this.#failures);
    this.#failures += 1;
    this.#retry = clock.after(delayMs, () => this.#connect());
  }
}
