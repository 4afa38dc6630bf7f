import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';

/** Bytes of the checksum at the end. */
const CHECKSUM_BYTES = 4;

/** A stored value that is not what was written, or was written by a newer version of this program. */
export class CorruptState extends Error {
  override readonly name = 'CorruptState';
}

/** What `read` answers, or the `CorruptState` that it throws: others of the same read are as they should be. */
export function readOrCorrupt<Value>(read: () => Value): Value | CorruptState {
  try {
    return read();
  } catch (error) {
    if (error instanceof CorruptState) return error;
    throw error;
  }
}

/**
 * A reader of a whole value, after a look at its checksum and format. Throws `CorruptState`. `what`
 * is how errors name the value: `the head of inst_1`.
 */
export function readerOf(bytes: unknown, format: number, what: string): ByteReader {
  if (!Buffer.isBuffer(bytes)) throw new CorruptState(`${what} is not there`);
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
 * Reads back what a `ByteWriter` wrote. Every method throws `CorruptState`, which names the value,
 * when the bytes are not what they should be.
 */
export class ByteReader {
  readonly #bytes: Buffer;
  readonly #what: string;
  #at = 0;

  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  /** Whether everything has been read. */
  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** A whole number from 0 to 255. */
  byte(): number {
    return this.#bytes.readUInt8(this.#advance(1));
  }

  /** A byte of flags, of which no other bits than `known` may be set. */
  flags(known: number): number {
    const flags = this.byte();
    if ((flags & ~known) === 0) return flags;
    throw new CorruptState(`${this.#what} has flags that this program does not know: ${flags}`);
  }

  /** A whole number of four bytes. */
  count(): number {
    return this.#bytes.readUInt32LE(this.#advance(4));
  }

  /** A whole number of as many bytes as it takes. */
  whole(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const next = this.byte();
      value += (next % 128) * unit;
      if (next < 128) return value;
    }
  }

  /** A whole number of two bytes. */
  short(): number {
    return this.#bytes.readUInt16LE(this.#advance(2));
  }

  /** Any number, to the last bit. */
  number(): number {
    return this.#bytes.readDoubleLE(this.#advance(8));
  }

  /** Numbers behind their count. */
  numbers(): Float64Array {
    const count = this.count();
    const start = this.#advance(8 * count);
    return Float64Array.from({ length: count }, (_, index) =>
      this.#bytes.readDoubleLE(start + 8 * index),
    );
  }

  /** A text behind the count of its bytes. */
  text(): string {
    return this.#textOf(this.count());
  }

  /** A text behind the short count of its bytes. */
  shortText(): string {
    return this.#textOf(this.whole());
  }

  /** A part of the value, a character for each byte. */
  part(): string {
    const length = this.count();
    const start = this.#advance(length);
    return this.#bytes.toString('latin1', start, start + length);
  }

  /** Asserts that everything has been read. */
  end(): void {
    if (this.isAtEnd) return;
    throw new CorruptState(`${this.#what} has ${this.#bytes.length - this.#at} bytes too many`);
  }

  #textOf(length: number): string {
    const start = this.#advance(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** Takes `count` bytes: where they begin. */
  #advance(count: number): number {
    const start = this.#at;
    if (start + count > this.#bytes.length) {
      throw new CorruptState(`${this.#what} ends too early`);
    }
    this.#at = start + count;
    return start;
  }
}

/** Room for nearly every value; it grows for the rest. Bytes. */
const ROOM = 16_384;

/**
 * Writes one value at a time as bytes: numbers as doubles, texts as UTF-8 behind their length, and
 * at the end a CRC-32 of all before. One buffer serves every value, because writing never waits.
 */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(ROOM);
  #length = 0;

  /** Begins a value with the number of its format. */
  begin(format: number): this {
    return this.beginPart().byte(format);
  }

  /** Begins what is a part of another value, and so has no format of its own. */
  beginPart(): this {
    this.#length = 0;
    return this;
  }

  /** A whole number from 0 to 255. */
  byte(value: number): this {
    this.#reserve(1);
    this.#length = this.#bytes.writeUInt8(value, this.#length);
    return this;
  }

  /** A whole number from 0 to 2^32 - 1, in four bytes. */
  count(value: number): this {
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32LE(value, this.#length);
    return this;
  }

  /** A whole number from 0 to 2^53 - 1: seven bits a byte, so that small ones are short. */
  whole(value: number): this {
    assert(Number.isSafeInteger(value) && value >= 0, `${value} is not a whole number`);
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.byte((rest % 128) + 128);
    return this.byte(rest);
  }

  /** A whole number from 0 to 65,535, in two bytes. */
  short(value: number): this {
    this.#reserve(2);
    this.#length = this.#bytes.writeUInt16LE(value, this.#length);
    return this;
  }

  /** Any number, to the last bit. */
  number(value: number): this {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    return this;
  }

  /** Numbers behind their count. */
  numbers(values: Float64Array): this {
    this.count(values.length);
    this.#reserve(8 * values.length);
    for (const value of values) this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    return this;
  }

  /** A text behind the count of its bytes. */
  text(value: string): this {
    // UTF-8 takes at most three bytes for each of UTF-16's units.
    this.#reserve(4 + 3 * value.length);
    const written = this.#bytes.write(value, this.#length + 4);
    this.#bytes.writeUInt32LE(written, this.#length);
    this.#length += 4 + written;
    return this;
  }

  /** A text behind the count of its bytes, which is short for a short one. */
  shortText(value: string): this {
    this.whole(Buffer.byteLength(value));
    this.#reserve(3 * value.length);
    this.#length += this.#bytes.write(value, this.#length);
    return this;
  }

  /** A part as `endPart` gave it, behind the count of its bytes. */
  part(bytes: string): this {
    this.count(bytes.length);
    this.#reserve(bytes.length);
    this.#length += this.#bytes.write(bytes, this.#length, 'latin1');
    return this;
  }

  /** Ends the value with its checksum: a copy of its own. */
  end(): Buffer {
    this.#reserve(CHECKSUM_BYTES);
    const checksum = crc32(this.#bytes.subarray(0, this.#length));
    this.#length = this.#bytes.writeUInt32LE(checksum, this.#length);
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  /** Ends a part: a character for each byte, as actors in memory keep it (`PackedRows`). */
  endPart(): string {
    return this.#bytes.toString('latin1', 0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count + CHECKSUM_BYTES;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * needed);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
