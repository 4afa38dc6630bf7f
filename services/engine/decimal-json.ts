import { putText, putWord } from '#engine/json-text';

/** Numbers are answered with six decimals. Source: model 0. */
const SCALE = 1e6;
const HALF_SCALE = 1e3;

/** From this magnitude on six decimals are no longer exact in a double. */
const EXACT_MAX = 1e9;

/** 0..999 as three ASCII digits in a word, lowest byte first. */
const DIGITS = Uint32Array.from({ length: HALF_SCALE }, (_, n) => {
  const text = String(n).padStart(3, '0');
  return text.charCodeAt(0) | (text.charCodeAt(1) << 8) | (text.charCodeAt(2) << 16);
});

/** How many of those digits remain when trailing zeros go. */
const TAIL_LENGTHS = Uint8Array.from(
  { length: HALF_SCALE },
  (_, n) => String(n).padStart(3, '0').replace(/0+$/, '').length,
);

const MINUS = '-'.charCodeAt(0);
const POINT = '.'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);

/**
 * Writes `value` as a JSON number with six decimals, without trailing zeros and without a negative
 * zero, and returns the position behind it. Digits come from a table, three at a time, which is
 * several times faster than printing a double. `value` is finite.
 */
export function putDecimal(value: number, position: number): number {
  const magnitude = Math.abs(value);
  if (magnitude >= EXACT_MAX) return putText(String(value), position);
  const millionths = Math.round(magnitude * SCALE);
  let next = position;
  if (value < 0 && millionths > 0) {
    putWord(MINUS, next);
    next++;
  }
  const whole = Math.floor(millionths / SCALE);
  next = putWhole(whole, next);
  const rest = millionths - whole * SCALE;
  if (rest === 0) return next;
  const high = Math.floor(rest / HALF_SCALE);
  const low = rest - high * HALF_SCALE;
  putWord(POINT | ((DIGITS[high] as number) << 8), next);
  if (low === 0) return next + 1 + (TAIL_LENGTHS[high] as number);
  putWord(DIGITS[low] as number, next + 4);
  return next + 4 + (TAIL_LENGTHS[low] as number);
}

/** Writes the whole number `value` >= 0 and returns the position behind it. */
export function putWhole(value: number, position: number): number {
  if (value >= 10) return putText(String(value), position);
  putWord(ZERO + value, position);
  return position + 1;
}
