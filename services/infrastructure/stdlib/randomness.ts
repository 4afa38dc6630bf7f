import { randomBytes } from 'node:crypto';

/**
 * Unpredictable text as a port, so that a simulated process can repeat a run. Source: architecture
 * 7.
 */
export interface Randomness {
  /** Random text with `length` characters from 0-9, A-Z and a-z, each equally likely. */
  base62(length: number): string;
  /** Random text with `length` characters from 0-9 and a-f, each equally likely. */
  hex(length: number): string;
}

/** Base62 digits in the order used throughout the project. Source: decision 41. */
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Largest multiple of 62 in a byte. Larger bytes would favour the first digits. */
const UNBIASED_BYTES = 248;

/** Randomness of the operating system, suitable for secrets. */
export const systemRandomness = randomnessFrom(randomBytes);

/** Creates random text from a source of uniform bytes. */
export function randomnessFrom(bytes: (count: number) => Uint8Array): Randomness {
  return {
    base62: (length) => base62From(bytes, length),
    hex: (length) =>
      Buffer.from(bytes(Math.ceil(length / 2)))
        .toString('hex')
        .slice(0, length),
  };
}

/** Unbiased base62 text, by rejection sampling. */
function base62From(bytes: (count: number) => Uint8Array, length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of bytes(length - text.length)) {
      if (byte < UNBIASED_BYTES) text += BASE62.charAt(byte % BASE62.length);
    }
  }
  return text;
}
