import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import * as grpc from '@grpc/grpc-js';
import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import { type FaultReason, PEER_REASONS, type PeerReason, REASONS } from '#errors/error-reasons';
import { Fault, faultFor, type ShardOwner, toFault } from '#errors/fault';
import {
  BACKOFF_BASE_MS,
  BACKOFF_CAP_MS,
  CONNECT_TIMEOUT_MS,
  FLOW_WINDOW_BYTES,
  FRAME_BYTES_TARGET,
  FRAME_MESSAGES_MAX,
  REPLY_FRAME_BYTES_MAX,
  REQUEST_FRAME_BYTES_MAX,
} from '#grpc/call-bounds';
import { type OwnChannel, ownChannel } from '#grpc/channel';
import { Fault as WireFault } from '#grpc/gen/identity_engine/v1/stream';
import type { Clock } from '#stdlib/clock';
import { isHostPort } from '#stdlib/network';

/** Tag of field 1 in every frame of `proto/`: a length-delimited message. */
const MESSAGE_TAG = 10;

/** Bits of a tag that contain the wire type. */
const WIRE_TYPE_BITS = 0b111;
/** Wire type of length-delimited fields. */
const LENGTH_DELIMITED = 2;

/**
 * Reads a frame message by message, without building a list. `read` must consume exactly `length`
 * bytes. Other length-delimited fields belong to a later release and are skipped. Returns the
 * number of fields. Throws `RangeError` on an invalid frame. The rest of the stream then cannot be
 * trusted.
 */
export function readFrame(
  bytes: Uint8Array,
  read: (reader: BinaryReader, length: number) => void,
): number {
  const reader = new BinaryReader(bytes);
  let count = 0;
  while (reader.pos < reader.len) {
    count += 1;
    if (count > FRAME_MESSAGES_MAX) throw new RangeError('too many messages in one frame');
    const tag = reader.uint32();
    if ((tag & WIRE_TYPE_BITS) !== LENGTH_DELIMITED)
      throw new RangeError('not a frame of messages');
    if (tag !== MESSAGE_TAG) {
      reader.skip(LENGTH_DELIMITED);
      continue;
    }
    const length = reader.uint32();
    const end = reader.pos + length;
    read(reader, length);
    if (reader.pos !== end) throw new RangeError('a message does not have its declared length');
  }
  return count;
}

/** Defines how a `FrameWriter` treats one kind of message. */
interface FrameSource<Message> {
  /** Maximum size of a frame that the receiver accepts, in bytes. */
  readonly frameBytesMax: number;
  /** Whether the message must still be sent. Called right before encoding. */
  isWanted(message: Message): boolean;
  /** Upper bound of the encoded size, in bytes. */
  sizeOf(message: Message): number;
  write(writer: BinaryWriter, message: Message): void;
  /**
   * Called if the message cannot be encoded. Afterwards the message must be unwanted or encodable.
   */
  refuse(message: Message, error: unknown): void;
}

/** Encodes messages into frames, with a reused buffer. */
export class FrameWriter<Message> {
  readonly #source: FrameSource<Message>;
  #writer = new BinaryWriter();

  constructor(source: FrameSource<Message>) {
    this.#source = source;
  }

  /**
   * Encodes `messages` from index `from` on into one frame, and passes the frame to `send` unless
   * it is empty. Returns the index of the first message that did not fit.
   */
  write(messages: readonly Message[], from: number, send: (frame: Buffer) => void): number {
    for (;;) {
      const next = this.#fill(messages, from);
      if (next === undefined) continue;
      const bytes = this.#writer.finish();
      if (bytes.length > 0) send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
      return next;
    }
  }

  // Fills the frame. A message that cannot be encoded leaves the writer in an undefined state. The
  // method then returns undefined, and the frame must be started again without the message.
  #fill(messages: readonly Message[], from: number): number | undefined {
    let frameSize = 0;
    for (let at = from; at < messages.length; at += 1) {
      const message = messages[at];
      if (message === undefined || !this.#source.isWanted(message)) continue;
      try {
        const size = this.#source.sizeOf(message);
        if (!(size <= this.#source.frameBytesMax))
          throw new RangeError('a message is larger than a frame');
        if (frameSize > 0 && frameSize + size > FRAME_BYTES_TARGET) return at;
        if (at - from >= FRAME_MESSAGES_MAX) return at;
        this.#source.write(this.#writer.uint32(MESSAGE_TAG).fork(), message);
        this.#writer.join();
        frameSize += size;
      } catch (error) {
        this.#writer = new BinaryWriter();
        this.#source.refuse(message, error);
        return undefined;
      }
    }
    return messages.length;
  }
}

/** Events of a link for its owner. `onClose` is always the last event. */
interface LinkEvents {
  /** The peer has sent its headers on the stream: it serves this protocol. */
  onOpen(): void;
  onFrame(frame: Uint8Array): void;
  /** The stream accepts frames again, after a `write` that returned false. */
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

// gRPC's own retries are off, so that only the frame connection decides when to reconnect.
const CHANNEL = {
  'grpc.default_compression_algorithm': grpc.compressionAlgorithms.identity,
  'grpc.max_receive_message_length': REPLY_FRAME_BYTES_MAX,
  'grpc.max_send_message_length': REQUEST_FRAME_BYTES_MAX,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc-node.flow_control_window': FLOW_WINDOW_BYTES,
} satisfies grpc.ClientOptions;

const asIs = (bytes: Buffer): Buffer => bytes;

/**
 * Single-use stream to one peer, from connecting to closing. The link is open after the peer has
 * sent its headers. The servers of this project send their headers immediately. A peer that accepts
 * connections and then hangs is therefore never open.
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

  /**
   * Closes the link permanently. Calls `onClose` before `close` returns. Further calls do nothing.
   */
  close(cause: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connecting[Symbol.dispose]();
    this.#stream.cancel();
    this.#channel.client.close();
    // A link that never opened would leak if the peer accepts the connection and stays silent.
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
 * uniform below the ceiling (full jitter), so that the clients of a lost server do not all
 * reconnect at the same time.
 */
export function backoffCeilingMs(failures: number): number {
  return Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** failures);
}

/** Link that reconnects. It is opened immediately, and again after every loss, until disposed. */
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
    // If no caller waits, the rejection must not be reported as unhandled.
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

  // Only a connection that lasted resets the backoff. A peer that accepts and then breaks the
  // stream is as bad as an absent peer.
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

/** Maximum length of a fault's message or field path, in UTF-16 units. Generous for a sentence. */
const FAULT_TEXT_LENGTH_MAX = 4_096;

/** Maximum length of an owner's incarnation, in UTF-16 units. */
const OWNER_TEXT_LENGTH_MAX = 261;

/** Trailer with the whole fault as encoded by `proto/`, for processes of the cluster. */
const FAULT_TRAILER = 'fault-bin';

/**
 * Whether the answering process must log an error. True for a bug, and for a failure whose cause is
 * not sent to the caller's process.
 */
export function losesItsCause(error: unknown): boolean {
  return !(error instanceof Fault) || (error.cause !== undefined && error.httpStatus >= 500);
}

/** Encodes a fault. Its cause stays in this process. */
export function faultToWire(fault: Fault): WireFault {
  return {
    code: fault.code,
    message: fault.message.slice(0, FAULT_TEXT_LENGTH_MAX),
    reason: fault.reason ?? '',
    field: fault.field?.slice(0, FAULT_TEXT_LENGTH_MAX),
    retryAfterS: fault.retryAfterS,
    firstCycle: fault.firstCycle,
    outcomeUnknown: fault.isOutcomeUnknown,
    owner: fault.owner,
  };
}

/**
 * Decodes a peer's fault. A reason of a later release is dropped, because the code is sufficient.
 * Throws `internal` if the code is not in `FAULTS`.
 */
export function faultFromWire(wire: WireFault): Fault {
  const { code, message, reason, field, firstCycle, retryAfterS, outcomeUnknown, owner } = wire;
  if (!isCode(code)) throw brokenMessage('fault code');
  if (firstCycle !== undefined) trustInteger(firstCycle, 0, Number.MAX_SAFE_INTEGER, 'first cycle');
  if (field !== undefined) trustText(field, 0, FAULT_TEXT_LENGTH_MAX, 'fault field');
  return new Fault(code, trustText(message, 0, FAULT_TEXT_LENGTH_MAX, 'fault message'), {
    reason: isReason(reason) ? reason : undefined,
    field,
    firstCycle,
    retryAfterS,
    isOutcomeUnknown: outcomeUnknown,
    owner: owner && ownerFromWire(owner),
  });
}

/** gRPC status of an error in a unary call. The status details are `code: message`, for people. */
export function statusOfError(error: unknown): Partial<StatusObject> {
  const fault = toFault(error);
  const metadata = new Metadata();
  const bytes = WireFault.encode(faultToWire(fault)).finish();
  metadata.set(FAULT_TRAILER, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return { code: FAULTS[fault.code].grpc, details: `${fault.code}: ${fault.message}`, metadata };
}

/** Fault in the trailer of a status. Undefined if `statusOfError` did not create the status. */
export function faultOfStatus({ metadata }: ServiceError): Fault | undefined {
  const [bytes] = metadata?.get(FAULT_TRAILER) ?? [];
  if (!Buffer.isBuffer(bytes)) return undefined;
  try {
    return faultFromWire(WireFault.decode(bytes));
  } catch {
    return undefined;
  }
}

function ownerFromWire({ incarnation, address, epoch }: ShardOwner): ShardOwner {
  return {
    incarnation: trustText(incarnation, 1, OWNER_TEXT_LENGTH_MAX, 'incarnation'),
    address: trustHostPort(address, 'address of an owner'),
    epoch: trustInteger(epoch, 1, Number.MAX_SAFE_INTEGER, 'epoch'),
  };
}

function isCode(code: string): code is FaultCode {
  return Object.hasOwn(FAULTS, code);
}

function isReason(reason: string): reason is FaultReason | PeerReason {
  return Object.hasOwn(REASONS, reason) || Object.hasOwn(PEER_REASONS, reason);
}

/**
 * Fault for a message with a value out of bounds. Such a message is a bug or a forgery, so the code
 * is `internal`. The waiting caller cannot know the outcome.
 */
export function brokenMessage(what: string): Fault {
  const cause = new RangeError(`${what} off the wire`);
  return new Fault('internal', 'internal error', { cause, isOutcomeUnknown: true });
}

/** Retry delay for a call that not every node supports yet, in seconds. Upgrades take minutes. */
const UPGRADE_RETRY_AFTER_S = 5;

/**
 * Refusal of a call that only a later release supports, as happens during an upgrade of the
 * cluster. The call has had no effect and is not sent to another node, because only the owner may
 * answer.
 */
export function unknownCall(): Fault {
  const text = 'this call needs a release that not every node runs yet: retry after the upgrade';
  return faultFor('upgrade_in_progress', text, { retryAfterS: UPGRADE_RETRY_AFTER_S });
}

/** Whether the error is a refusal of `unknownCall`. */
export function isUnknownCall(error: unknown): error is Fault {
  return error instanceof Fault && error.reason === 'upgrade_in_progress';
}

/**
 * Refusal of a call that could not be decoded. The call has had no effect, so its outcome is known.
 */
export function refusalOf(error: unknown): Fault {
  return isUnknownCall(error) ? error : new Fault('internal', 'internal error', { cause: error });
}

/** Returns `value` if it is a whole number in [min, max]. Otherwise throws `internal`. */
export function trustInteger(value: number, min: number, max: number, what: string): number {
  if (!(Number.isInteger(value) && value >= min && value <= max)) throw brokenMessage(what);
  return value;
}

/**
 * Returns `value` if it is in [0, 1]. Otherwise throws `internal`, also for NaN. Source: numbers of
 * the model, interface 2.
 */
export function trustUnit(value: number, what: string): number {
  if (!(value >= 0 && value <= 1)) throw brokenMessage(what);
  return value;
}

/** Returns `value` if it has between `min` and `max` UTF-16 units. Otherwise throws `internal`. */
export function trustText(value: string, min: number, max: number, what: string): string {
  if (value.length < min || value.length > max) throw brokenMessage(what);
  return value;
}

/**
 * Returns `value` if it is `host:port`. Otherwise throws `internal`. Processes connect only to such
 * addresses.
 */
function trustHostPort(value: string, what: string): string {
  if (!isHostPort(value)) throw brokenMessage(what);
  return value;
}
