import * as grpc from '@grpc/grpc-js';
import type { Clock } from '#platform/clock';
import { type OwnChannel, ownChannel } from '#wire/own-channel';
import {
  CONNECT_TIMEOUT_MS,
  FLOW_WINDOW_BYTES,
  REPLY_FRAME_BYTES_MAX,
  REQUEST_FRAME_BYTES_MAX,
} from '#wire/wire-bounds';

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
export type LinkOptions = {
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
export class FrameLink implements Disposable {
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
