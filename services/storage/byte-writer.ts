import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';

/** Room for nearly every value; it grows for the rest. Bytes. */
const ROOM = 16_384;

/** Bytes of the checksum at the end. */
const CHECKSUM_BYTES = 4;

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
