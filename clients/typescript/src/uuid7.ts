/** How many bits of a UUIDv7 count within one millisecond here: those of `rand_a`. */
const SEQUENCE_MAX = 0xfff;

/** How many random values are drawn at once, so that a key costs no call into the system. */
const POOL_BYTES = 2_048;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

const pool = new Uint8Array(POOL_BYTES);
let poolOffset = POOL_BYTES;
let lastMs = 0;
let sequence = 0;

/**
 * A UUID of version 7 (RFC 9562): the time in milliseconds, a counter, 62 random bits.
 *
 * Each is greater than all before it in this process, also when the clock steps back. The service answers a
 * call whose key is a UUIDv7 of the last ten seconds without a look-up (interface 7.2).
 */
export function uuid7(nowMs = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // Half of the counter is left for what follows in the same millisecond.
    sequence = (randomByte() << 3) | (randomByte() & 7);
  } else {
    sequence += 1;
    if (sequence > SEQUENCE_MAX) {
      lastMs += 1;
      sequence = 0;
    }
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const counter = sequence.toString(16).padStart(3, '0');
  const variant = hex((randomByte() & 0x3f) | 0x80) + hex(randomByte());
  const node = Array.from({ length: 6 }, () => hex(randomByte())).join('');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}-${node}`;
}

function hex(byte: number): string {
  return HEX[byte] ?? '00';
}

function randomByte(): number {
  if (poolOffset >= POOL_BYTES) {
    crypto.getRandomValues(pool);
    poolOffset = 0;
  }
  const byte = pool[poolOffset] ?? 0;
  poolOffset += 1;
  return byte;
}
