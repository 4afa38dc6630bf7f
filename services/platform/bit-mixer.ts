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
