import * as grpc from '@grpc/grpc-js';
import type { Clock } from '#platform/clock';
import {
  BACKOFF_BASE_MS,
  BACKOFF_CAP_MS,
  CONNECT_TIMEOUT_MS,
  FLOW_WINDOW_BYTES,
  REPLY_FRAME_BYTES_MAX,
  REQUEST_FRAME_BYTES_MAX,
} from '#wire/bounds';
import { type OwnChannel, ownChannel } from '#wire/channel';

/** What a link reports to its owner. `onClose` is the last. */
interface LinkEvents {
  /** The peer has answered on the stream: it speaks our service. */
  onOpen(): void;
  onFrame(frame: Uint8Array): void;
  /** The stream takes frames again after a `write` that returned false. */
  onDrain(): void;
  onClose(cause: unknown): void;
}

/** Where and how a link connects. */
type LinkOptions = {
  /** `host:port`. */
  readonly address: string;
  /** Path of the stream method. */
  readonly path: string;
  readonly clock: Clock;
  /** Credentials for one link alone. */
  readonly newCredentials: () => grpc.ChannelCredentials;
  /** Silence after which the peer is pinged, and how long it may take to answer, in milliseconds. */
  readonly keepalive: { readonly timeMs: number; readonly timeoutMs: number };
};

// When to try again is decided in one place, the frame connection.
const CHANNEL = {
  'grpc.default_compression_algorithm': grpc.compressionAlgorithms.identity,
  'grpc.max_receive_message_length': REPLY_FRAME_BYTES_MAX,
  'grpc.max_send_message_length': REQUEST_FRAME_BYTES_MAX,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc-node.flow_control_window': FLOW_WINDOW_BYTES,
} satisfies grpc.ClientOptions;

const asIs = (bytes: Buffer): Buffer => bytes;

/**
 * One stream to one peer, from its first connect to its end; it never comes back. It counts as open
 * when the peer has sent its headers, which our servers do at once, so a peer that accepts
 * connections and then hangs is never open.
 */
class FrameLink implements Disposable {
  readonly #channel: OwnChannel;
  readonly #stream: grpc.ClientDuplexStream<Buffer, Buffer>;
  readonly #events: LinkEvents;
  readonly #connecting: Disposable;
  #wasOpen = false;
  #isClosed = false;

  constructor(
    { address, path, clock, newCredentials, keepalive }: LinkOptions,
    events: LinkEvents,
  ) {
    this.#events = events;
    this.#channel = ownChannel(address, newCredentials(), {
      ...CHANNEL,
      'grpc.keepalive_time_ms': keepalive.timeMs,
      'grpc.keepalive_timeout_ms': keepalive.timeoutMs,
    });
    this.#stream = this.#channel.client.makeBidiStreamRequest(path, asIs, asIs);
    this.#connecting = clock.after(CONNECT_TIMEOUT_MS, () => {
      this.close(new Error(`no connection to ${address} in time`));
    });
    this.#stream.on('metadata', () => {
      this.#connecting[Symbol.dispose]();
      this.#wasOpen = true;
      if (!this.#isClosed) events.onOpen();
    });
    this.#stream.on('data', (frame: Buffer) => {
      if (!this.#isClosed) events.onFrame(frame);
    });
    this.#stream.on('drain', () => {
      if (!this.#isClosed) events.onDrain();
    });
    this.#stream.on('error', (error: Error) => this.close(error));
    this.#stream.on('status', (status: grpc.StatusObject) => this.close(status));
  }

  /** Sends a frame. False: send no more before `onDrain`. */
  write(frame: Buffer): boolean {
    return this.#stream.write(frame);
  }

  /** Ends the link, now and for good; `onClose` hears of it once, before this returns. */
  close(cause: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connecting[Symbol.dispose]();
    this.#stream.cancel();
    this.#channel.client.close();
    // One that never opened would stay for ever at a peer that accepts and says nothing.
    if (!this.#wasOpen) this.#channel.cut();
    this.#events.onClose(cause);
  }

  [Symbol.dispose](): void {
    this.close(new Error('closed by its owner'));
  }
}

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
