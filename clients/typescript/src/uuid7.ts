/** Maximum counter within one millisecond: the 12 bits of `rand_a`. */
const SEQUENCE_MAX = 0xfff;

let lastMs = 0;
let sequence = 0;

/**
 * A UUID version 7 (RFC 9562): time in milliseconds, a counter, 62 random bits.
 *
 * Strictly increasing within this process, even if the clock steps back. The service answers a call
 * whose key is a UUIDv7 of the last ten seconds without a look-up (interface 7.2).
 */
export function uuid7(nowMs = Date.now()): string {
  // The platform generates random UUIDs in bulk; the last 64 bits have the same layout in both
  // versions.
  const random = crypto.randomUUID();
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // Start in the lower half of the counter, to leave room within the same millisecond.
    sequence = Number.parseInt(random.slice(0, 3), 16) >> 1;
  } else if (sequence < SEQUENCE_MAX) {
    sequence += 1;
  } else {
    lastMs += 1;
    sequence = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const counter = sequence.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}${random.slice(18)}`;
}
