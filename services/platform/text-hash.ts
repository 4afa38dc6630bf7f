import { mixBits } from '#platform/bit-mixer';

/** FNV-1a's start and factor. Source: draft-eastlake-fnv, 32 bits. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A hash of a text, 0 to 2^32 - 1, the same on every machine and for ever: routing depends on it.
 * FNV-1a over the UTF-16 units, which costs no encoding, then `mixBits` for its weak low bits.
 */
export function hashText(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  }
  return mixBits(hash) >>> 0;
}
