import { crc32 } from 'node:zlib';
import type { SqlValue } from '#storage/sqlite/database';

/**
 * What sums of checksums are kept modulo, in the table `sums` and wherever they are compared with it: a
 * number of JavaScript holds them.
 */
export const SUM_MODULUS = 2 ** 48;

const NUMBER_BYTES = 8;

/** CRC-32 of a table's name and values, each with its kind. */
export function checksumOf(name: string, values: readonly SqlValue[]): number {
  let sum = crc32(name);
  for (const value of values) {
    if (value === null) sum = crc32('\0n', sum);
    else if (typeof value === 'string') sum = crc32(value, crc32('\0t', sum));
    else if (typeof value === 'number') sum = crc32(bytesOfNumber(value), crc32('\0i', sum));
    else sum = crc32(value, crc32('\0b', sum));
  }
  return sum;
}

function bytesOfNumber(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES);
  bytes.writeDoubleLE(value);
  return bytes;
}
