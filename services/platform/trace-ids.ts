import { randomFillSync } from 'node:crypto';

/** Bytes of a trace's id, of a span's, and of a chance. Source: W3C Trace Context, 3.2.2. */
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const CHANCE_BYTES = 4;

/** Randomness is drawn in pieces of this many bytes, because one draw costs as much as a hundred. */
const POOL_BYTES = 8_192;

/** Draws the ids of traces and spans, and by chance which traces are recorded. */
export class TraceIds {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #used = POOL_BYTES;

  /** A trace's id, 32 lower-case hex digits. */
  readonly traceId = (): string => this.#hex(TRACE_BYTES);

  /** A span's id, 16 of them. */
  readonly spanId = (): string => this.#hex(SPAN_BYTES);

  /** True in this share of the calls, 0 to 1. */
  isChosen(ratio: number): boolean {
    return this.#pool.readUInt32BE(this.#take(CHANCE_BYTES)) < ratio * 2 ** 32;
  }

  // An id of zeros is none; it comes once in 2^64, and makes a span that is not shown.
  #hex(bytes: number): string {
    const from = this.#take(bytes);
    return this.#pool.toString('hex', from, from + bytes);
  }

  #take(bytes: number): number {
    if (this.#used + bytes > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += bytes;
    return from;
  }
}
