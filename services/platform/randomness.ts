import { randomBytes } from 'node:crypto';

/** Unpredictable text as a port: a simulated process can repeat itself. Source: architecture 7. */
export interface Randomness {
  /** `length` characters of 0-9, A-Z and a-z, each equally likely. */
  base62(length: number): string;
  /** `length` characters of 0-9 and a-f, each equally likely. */
  hex(length: number): string;
}

/** Digits in the order that every base62 text of ours uses. Source: decision 41. */
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The largest multiple of 62 in a byte: bytes from here on would favour the first digits. */
const UNBIASED_BYTES = 248;

/** The operating system's randomness, fit for secrets. */
export const systemRandomness = randomnessFrom(randomBytes);

/** Text from a source of uniform bytes. */
export function randomnessFrom(bytes: (count: number) => Uint8Array): Randomness {
  return {
    base62: (length) => base62From(bytes, length),
    hex: (length) =>
      Buffer.from(bytes(Math.ceil(length / 2)))
        .toString('hex')
        .slice(0, length),
  };
}

/** Unbiased base62 text: bytes that would bias it are thrown away. */
function base62From(bytes: (count: number) => Uint8Array, length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of bytes(length - text.length)) {
      if (byte < UNBIASED_BYTES) text += BASE62.charAt(byte % BASE62.length);
    }
  }
  return text;
}
