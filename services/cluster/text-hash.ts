/** FNV-1a's start and factor. Source: draft-eastlake-fnv, 32 bits. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A hash of a text, 0 to 2^32 - 1, the same on every machine and for ever: routing rests on it.
 * FNV-1a over the UTF-16 units, which costs no encoding, then `mix` for its weak low bits.
 */
export function hashText(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  }
  return mix(hash);
}

/** Spreads every bit over all 32: the finaliser of MurmurHash3, a bijection. */
export function mix(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
