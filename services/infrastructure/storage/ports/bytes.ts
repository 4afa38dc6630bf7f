import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';

/** Size of a value's checksum, in bytes. */
const CHECKSUM_BYTES = 4;

/**
 * Error for a stored value that differs from the written value, or that a newer program version
 * wrote.
 */
export class CorruptState extends Error {
  override readonly name = 'CorruptState';
}

/**
 * Result of `read`, or the `CorruptState` that `read` throws. A damaged value thus does not fail
 * the other values of the same read.
 */
export function readOrCorrupt<Value>(read: () => Value): Value | CorruptState {
  try {
    return read();
  } catch (error) {
    if (error instanceof CorruptState) return error;
    throw error;
  }
}

/**
 * Returns a reader for a whole value after checking its checksum and its format. Throws
 * `CorruptState`. `what` names the value in errors: `the head of inst_1`.
 */
export function readerOf(bytes: unknown, format: number, what: string): ByteReader {
  if (!Buffer.isBuffer(bytes)) throw new CorruptState(`${what} does not exist`);
  const end = bytes.length - CHECKSUM_BYTES;
  if (end < 1) throw new CorruptState(`${what} has only ${bytes.length} bytes`);
  const value = bytes.subarray(0, end);
  if (bytes.readUInt32LE(end) !== crc32(value)) {
    throw new CorruptState(`${what} does not match its checksum (${bytes.length} bytes)`);
  }
  const reader = new ByteReader(value, what);
  const found = reader.byte();
  if (found === format) return reader;
  throw new CorruptState(`${what} has format ${found}; this program reads format ${format}`);
}

/**
 * Reads the encoding of `ByteWriter`. If the bytes are damaged, methods throw `CorruptState`, which
 * names the value.
 */
export class ByteReader {
  readonly #bytes: Buffer;
  readonly #what: string;
  #at = 0;

  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  /** Whether all bytes have been read. */
  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** Reads a whole number from 0 to 255. */
  byte(): number {
    return this.#bytes.readUInt8(this.#advance(1));
  }

  /** Reads a byte of flags. Throws if bits other than `known` are set. */
  flags(known: number): number {
    const flags = this.byte();
    if ((flags & ~known) === 0) return flags;
    throw new CorruptState(`${this.#what} has flags that this program does not know: ${flags}`);
  }

  /** Reads a whole number of four bytes. */
  count(): number {
    return this.#bytes.readUInt32LE(this.#advance(4));
  }

  /** Reads a whole number of variable length. */
  whole(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const next = this.byte();
      value += (next % 128) * unit;
      if (next < 128) return value;
    }
  }

  /** Reads a whole number of two bytes. */
  short(): number {
    return this.#bytes.readUInt16LE(this.#advance(2));
  }

  /** Reads a double, without loss of precision. */
  number(): number {
    return this.#bytes.readDoubleLE(this.#advance(8));
  }

  /** Reads a count, then that number of doubles. */
  numbers(): Float64Array {
    const count = this.count();
    const start = this.#advance(8 * count);
    return Float64Array.from({ length: count }, (_, index) =>
      this.#bytes.readDoubleLE(start + 8 * index),
    );
  }

  /** Reads a byte count, then a text. */
  text(): string {
    return this.#textOf(this.count());
  }

  /** Reads a byte count of variable length, then a text. */
  shortText(): string {
    return this.#textOf(this.whole());
  }

  /** Reads a part of the value, as a string with one character per byte. */
  part(): string {
    const length = this.count();
    const start = this.#advance(length);
    return this.#bytes.toString('latin1', start, start + length);
  }

  /** Throws `CorruptState` unless all bytes have been read. */
  end(): void {
    if (this.isAtEnd) return;
    throw new CorruptState(`${this.#what} has ${this.#bytes.length - this.#at} bytes too many`);
  }

  #textOf(length: number): string {
    const start = this.#advance(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** Skips `count` bytes and returns their start. */
  #advance(count: number): number {
    const start = this.#at;
    if (start + count > this.#bytes.length) {
      throw new CorruptState(`${this.#what} ends too early`);
    }
    this.#at = start + count;
    return start;
  }
}

/** Initial size of the buffer, in bytes. Enough for nearly every value. */
const ROOM = 16_384;

/** Maximum bytes of a whole number below 2^53, with seven bits per byte. */
const WHOLE_BYTES_MAX = 8;

/**
 * Encodes values one after the other: numbers as doubles, texts as UTF-8 after their length, and a
 * CRC-32 at the end. One buffer serves all values, because encoding is synchronous.
 */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(ROOM);
  #length = 0;

  /** Starts a value with its format number. */
  begin(format: number): this {
    return this.beginPart().byte(format);
  }

  /** Starts a part of another value. A part has no format number. */
  beginPart(): this {
    this.#length = 0;
    return this;
  }

  /** Writes a whole number from 0 to 255. */
  byte(value: number): this {
    this.#reserve(1);
    this.#length = this.#bytes.writeUInt8(value, this.#length);
    return this;
  }

  /** Writes a whole number from 0 to 2^32 - 1, in four bytes. */
  count(value: number): this {
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32LE(value, this.#length);
    return this;
  }

  /** Writes a whole number from 0 to 2^53 - 1, with seven bits per byte. Small numbers are short. */
  whole(value: number): this {
    // No `assert`, which would build its message for every number.
    if (!Number.isSafeInteger(value) || value < 0) assert.fail(`${value} is not a whole number`);
    this.#reserve(WHOLE_BYTES_MAX);
    let rest = value;
    while (rest >= 128) {
      const higher = Math.floor(rest / 128);
      this.#bytes[this.#length] = rest - higher * 128 + 128;
      this.#length += 1;
      rest = higher;
    }
    this.#bytes[this.#length] = rest;
    this.#length += 1;
    return this;
  }

  /** Writes a whole number from 0 to 65,535, in two bytes. */
  short(value: number): this {
    this.#reserve(2);
    this.#length = this.#bytes.writeUInt16LE(value, this.#length);
    return this;
  }

  /** Writes a double, without loss of precision. */
  number(value: number): this {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    return this;
  }

  /** Writes a count, then the numbers. */
  numbers(values: Float64Array): this {
    this.count(values.length);
    this.#reserve(8 * values.length);
    for (const value of values) this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    return this;
  }

  /** Writes a byte count, then the text. */
  text(value: string): this {
    // UTF-8 takes at most three bytes per UTF-16 unit.
    this.#reserve(4 + 3 * value.length);
    const written = this.#bytes.write(value, this.#length + 4);
    this.#bytes.writeUInt32LE(written, this.#length);
    this.#length += 4 + written;
    return this;
  }

  /** Writes a byte count of variable length, then the text. */
  shortText(value: string): this {
    if (value.length < 128 && this.#isAsciiWritten(value)) return this;
    this.whole(Buffer.byteLength(value));
    this.#reserve(3 * value.length);
    this.#length += this.#bytes.write(value, this.#length);
    return this;
  }

  /** Writes a byte count, then a part from `endPart`. */
  part(bytes: string): this {
    this.count(bytes.length);
    this.#reserve(bytes.length);
    this.#length += this.#bytes.write(bytes, this.#length, 'latin1');
    return this;
  }

  /** Ends the value with its checksum and returns a copy. */
  end(): Buffer {
    this.#reserve(CHECKSUM_BYTES);
    const checksum = crc32(this.#bytes.subarray(0, this.#length));
    this.#length = this.#bytes.writeUInt32LE(checksum, this.#length);
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  /** Ends a part and returns it as a string with one character per byte (`PackedRows`). */
  endPart(): string {
    return this.#bytes.toString('latin1', 0, this.#length);
  }

  /**
   * Writes a text of less than 128 ASCII characters and its length. Returns false and writes nothing
   * for another text. Faster than two calls of `Buffer`.
   */
  #isAsciiWritten(value: string): boolean {
    const { length } = value;
    this.#reserve(1 + length);
    const start = this.#length + 1;
    for (let at = 0; at < length; at += 1) {
      const unit = value.charCodeAt(at);
      if (unit >= 128) return false;
      this.#bytes[start + at] = unit;
    }
    this.#bytes[this.#length] = length;
    this.#length = start + length;
    return true;
  }

  #reserve(count: number): void {
    const needed = this.#length + count + CHECKSUM_BYTES;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * needed);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
