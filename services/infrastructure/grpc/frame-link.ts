import * as grpc from '@grpc/grpc-js';
import {
  BACKOFF_BASE_MS,
  BACKOFF_CAP_MS,
  CONNECT_TIMEOUT_MS,
  FLOW_WINDOW_BYTES,
  REPLY_FRAME_BYTES_MAX,
  REQUEST_FRAME_BYTES_MAX,
} from '#grpc/bounds';
import { type OwnChannel, ownChannel } from '#grpc/channel';
import type { Clock } from '#stdlib/clock';

/** Events of a link for its owner. `onClose` is the last one. */
interface LinkEvents {
  /** The peer has sent its headers on the stream: it serves this protocol. */
  onOpen(): void;
  onFrame(frame: Uint8Array): void;
  /** The stream accepts frames again after a `write` that returned false. */
  onDrain(): void;
  onClose(cause: unknown): void;
}

/** Options of a link. */
type LinkOptions = {
  /** `host:port`. */
  readonly address: string;
  /** Path of the stream method. */
  readonly path: string;
  readonly clock: Clock;
  /** Creates credentials that only one link uses. */
  readonly newCredentials: () => grpc.ChannelCredentials;
  /** Silence after which the peer is pinged, and timeout of the answer, in milliseconds. */
  readonly keepalive: { readonly timeMs: number; readonly timeoutMs: number };
};

// gRPC's own retries are off: only the frame connection decides when to reconnect.
const CHANNEL = {
  'grpc.default_compression_algorithm': grpc.compressionAlgorithms.identity,
  'grpc.max_receive_message_length': REPLY_FRAME_BYTES_MAX,
  'grpc.max_send_message_length': REQUEST_FRAME_BYTES_MAX,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc-node.flow_control_window': FLOW_WINDOW_BYTES,
} satisfies grpc.ClientOptions;

const asIs = (bytes: Buffer): Buffer => bytes;

/**
 * Single-use stream to one peer, from its connect to its end. The link counts as open when the peer
 * has sent its headers, which this project's servers do at once. So a peer that accepts connections
 * and then hangs is never open.
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

  /** Sends a frame. Returns false for back-pressure: wait for `onDrain` before the next frame. */
  write(frame: Buffer): boolean {
    return this.#stream.write(frame);
  }

  /** Closes the link permanently. `onClose` is called once, before this returns. */
  close(cause: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connecting[Symbol.dispose]();
    this.#stream.cancel();
    this.#channel.client.close();
    // A link that never opened would leak at a peer that accepts and stays silent.
    if (!this.#wasOpen) this.#channel.cut();
    this.#events.onClose(cause);
  }

  [Symbol.dispose](): void {
    this.close(new Error('closed by its owner'));
  }
}

/** Events of a connection for its owner. */
interface ConnectionEvents {
  onOpen(): void;
  /** Throws on an invalid frame. The connection then closes the stream and reconnects. */
  onFrame(frame: Uint8Array): void;
  onDrain(): void;
  /** The stream was lost, or could not be opened. The connection reconnects on its own. */
  onLost(cause: unknown): void;
}

/** Options of a connection. */
type ConnectionOptions = LinkOptions & {
  /** Uniform in [0, 1), for the jitter of reconnects. */
  readonly random: () => number;
};

/**
 * Ceiling of the backoff before attempt number `failures + 1`, in milliseconds. The actual wait is
 * uniform below the ceiling (full jitter), so that the clients of a lost server do not reconnect
 * all at once.
 */
export function backoffCeilingMs(failures: number): number {
  return Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** failures);
}

/** Reconnecting link: opened at once, and again after every loss, until disposed. */
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
    // Without a waiting caller, the rejection must not count as unhandled.
    this.#opening.promise.catch(() => undefined);
    this.#connect();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Fulfils when the connection is open. Rejects if disposed first. */
  ready(): Promise<void> {
    return this.#opening.promise;
  }

  /**
   * Sends a frame. Returns false for back-pressure: wait for `onDrain`. Allowed only while open.
   */
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

  // Only a connection that lasted resets the backoff: a peer that accepts and then breaks the
  // stream is as bad as an absent one.
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
