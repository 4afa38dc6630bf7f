/** Multipliers of the 32-bit finalizer of MurmurHash3 (Appleby, public domain). */
const MIX_1 = 0x85ebca6b;
const MIX_2 = 0xc2b2ae35;

/**
 * Spreads every bit over all 32: the finalizer of MurmurHash3, a bijection. The result is a signed
 * 32-bit integer; `>>> 0` makes it unsigned.
 */
export function mixBits(bits: number): number {
  let mixed = bits | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), MIX_1);
  mixed = Math.imul(mixed ^ (mixed >>> 13), MIX_2);
  return mixed ^ (mixed >>> 16);
}

/** Offset basis and prime of 32-bit FNV-1a. Source: draft-eastlake-fnv. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Hash of a text, 0 to 2^32 - 1. The result must be the same on every machine and in every version,
 * because routing depends on it. FNV-1a over UTF-16 units, which needs no encoding, then `mixBits`
 * for its weak low bits.
 */
export function hashText(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  }
  return mixBits(hash) >>> 0;
}
