import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { FRAME_BYTES_TARGET, FRAME_MESSAGES_MAX } from '#grpc/bounds';

/** Tag of field 1 of every frame in `proto/`, length-delimited: one message. */
const MESSAGE_TAG = 10;

/** Wire type in the lower bits of a tag, and its value for length-delimited fields. */
const WIRE_TYPE_BITS = 0b111;
const LENGTH_DELIMITED = 2;

/**
 * Reads a frame message by message, without building a list. `read` must consume exactly `length`
 * bytes. Other length-delimited fields belong to a later release and are skipped. Returns the
 * number of fields. Throws `RangeError` on an invalid frame; the rest of the stream cannot be
 * trusted then.
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
    if (reader.pos !== end) throw new RangeError('a message is not as long as it says');
  }
  return count;
}

/** Treatment of one kind of message by a `FrameWriter`. */
interface FrameSource<Message> {
  /** Maximum size of a frame that the receiver accepts, in bytes. */
  readonly frameBytesMax: number;
  /** Whether the message must still be sent. Called right before encoding. */
  isWanted(message: Message): boolean;
  /** Upper bound of the encoded size, in bytes. */
  sizeOf(message: Message): number;
  write(writer: BinaryWriter, message: Message): void;
  /** Called if the message cannot be encoded. Afterwards it must be unwanted or encodable. */
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
   * Encodes `messages` from index `from` on into one frame and passes the frame to `send` unless it
   * is empty. Returns the index of the first message that did not fit.
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

  // A message that cannot be encoded leaves the writer in an undefined state, so the frame is
  // started again without the message. Returns undefined for that.
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
