import { crc32 } from 'node:zlib';

/** Bytes of the checksum at the end. */
const CHECKSUM_BYTES = 4;

/** A stored value that is not what was written, or was written by a newer version of this program. */
export class CorruptState extends Error {
  override readonly name = 'CorruptState';
}

/**
 * Reads back what a `ByteWriter` wrote, after checking its checksum and format. Every method throws
 * `CorruptState`, which names the value, when the bytes are not what they should be.
 */
export class ByteReader {
  readonly #bytes: Buffer;
  readonly #what: string;
  readonly #end: number;
  #at = 0;

  /** `what` is how errors name the value: `the head of inst_1`. */
  constructor(bytes: unknown, format: number, what: string) {
    if (!Buffer.isBuffer(bytes)) throw new CorruptState(`${what} is not there`);
    this.#bytes = bytes;
    this.#what = what;
    this.#end = bytes.length - CHECKSUM_BYTES;
    if (this.#end < 1) throw new CorruptState(`${what} has only ${bytes.length} bytes`);
    if (bytes.readUInt32LE(this.#end) !== crc32(bytes.subarray(0, this.#end))) {
      throw new CorruptState(`${what} does not match its checksum (${bytes.length} bytes)`);
    }
    const found = this.byte();
    if (found !== format) {
      throw new CorruptState(`${what} has format ${found}; this program reads format ${format}`);
    }
  }

  /** A whole number from 0 to 255. */
  byte(): number {
    return this.#bytes.readUInt8(this.#advance(1));
  }

  /** A whole number of four bytes. */
  count(): number {
    return this.#bytes.readUInt32LE(this.#advance(4));
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
    const length = this.count();
    const start = this.#advance(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** Asserts that everything has been read. */
  end(): void {
    if (this.#at === this.#end) return;
    throw new CorruptState(`${this.#what} has ${this.#end - this.#at} bytes too many`);
  }

  /** Takes `count` bytes: where they begin. */
  #advance(count: number): number {
    const start = this.#at;
    if (start + count > this.#end) throw new CorruptState(`${this.#what} ends too early`);
    this.#at = start + count;
    return start;
  }
}
