import { fragment, put, putHex, textUpTo } from '#engine/json';
import { faultFor } from '#errors/fault';
import type { EngineCall } from '#grpc/engine-messages';
import { mixBits } from '#stdlib/hash';

/**
 * Odd constants that make the two halves of a tag independent: 2^32 over the golden ratio and over
 * √3.
 */
const SALT_HIGH = 0x9e3779b9;
const SALT_LOW = 0x93cd3a2d;

/** Position of the digits in an id, after `inst_`. */
const ID_DIGITS_AT = 5;
const HALF_DIGITS = 8;

const DIGIT_ZERO = '0'.charCodeAt(0);
const LETTER_A = 'a'.charCodeAt(0);

const TAG_START = fragment('"snap_');
const TAG_END = fragment('"');

/**
 * The strong ETag of an instance at a version: `"snap_` + 16 hex + `"`, quotes included. Equal for
 * equal (instance, version), different for different versions of one instance. Source: decision 21.
 */
export function etagOf(instanceId: string, version: number): string {
  const idHigh = hexAt(instanceId, ID_DIGITS_AT);
  const idLow = hexAt(instanceId, ID_DIGITS_AT + HALF_DIGITS);
  const versionHigh = Math.floor(version / 2 ** 32);
  const high = mixBits(idHigh ^ mixBits(version ^ SALT_HIGH));
  const low = mixBits(idLow ^ mixBits(version ^ SALT_LOW ^ mixBits(versionHigh)));
  const end = putHex(low, putHex(high, put(TAG_START, 0)));
  return textUpTo(put(TAG_END, end));
}

/** Whether an `If-Match` value names the tag; `*` names any. Weak tags never match (RFC 9110). */
export function isMatched(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag);
}

/**
 * Throws `conflict` if the call has an `If-Match` that does not name this version (decision 21).
 */
export function assertMatch(
  { ifMatch, instanceId }: Pick<EngineCall, 'ifMatch' | 'instanceId'>,
  version: number,
): void {
  if (ifMatch === undefined || isMatched(ifMatch, etagOf(instanceId, version))) return;
  throw faultFor('version_mismatch', 'the instance has changed since this ETag', {
    field: 'If-Match',
  });
}

/** Eight lower-case hex digits as a 32-bit number. */
function hexAt(text: string, at: number): number {
  let value = 0;
  for (let index = at; index < at + HALF_DIGITS; index++) {
    const unit = text.charCodeAt(index);
    value = (value << 4) | (unit < LETTER_A ? unit - DIGIT_ZERO : unit - LETTER_A + 10);
  }
  return value;
}
