import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { FRAME_BYTES_TARGET, FRAME_MESSAGES_MAX } from '#wire/bounds';

/** Field 1 of every frame of `proto/`, length-delimited: one message. */
const MESSAGE_TAG = 10;

/** The lower bits of a tag, and what they say of a field that has a length in front. */
const WIRE_TYPE_BITS = 0b111;
const LENGTH_DELIMITED = 2;

/**
 * Reads a frame message by message, so that no list of them is built. `read` must consume exactly
 * `length` bytes. Other fields that have a length are of a later release, and passed over. Returns how
 * many fields there were. Throws when the bytes are not such a frame: then nothing after it can be
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
    if (reader.pos !== end) throw new RangeError('a message is not as long as it says');
  }
  return count;
}

/** How a `FrameWriter` treats one kind of message. */
interface FrameSource<Message> {
  /** Largest frame that the other side reads, in bytes. */
  readonly frameBytesMax: number;
  /** Whether the message is still worth its bytes. Asked right before it is written. */
  isWanted(message: Message): boolean;
  /** An upper bound of the encoded size, in bytes. */
  sizeOf(message: Message): number;
  write(writer: BinaryWriter, message: Message): void;
  /** The message cannot be written; afterwards it must be unwanted or writable. */
  refuse(message: Message, error: unknown): void;
}

/** Turns messages into frames with one buffer that is used again and again. */
export class FrameWriter<Message> {
  readonly #source: FrameSource<Message>;
  #writer = new BinaryWriter();

  constructor(source: FrameSource<Message>) {
    this.#source = source;
  }

  /**
   * Encodes `messages` from index `from` on into one frame and hands it to `send`, if there was
   * anything to encode. Returns the index of the first message that did not find room.
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

  // A message that cannot be encoded leaves the writer in the middle of it, so the frame is
  // started again without it: the others must not suffer. Undefined means: again.
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
