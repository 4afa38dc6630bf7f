/** The first code unit of the range that encodes code points above U+FFFF. */
const SURROGATE_FIRST = 0xd800;

/** The first code unit after that range. */
const SURROGATE_END = 0xe000;

const SURROGATE = /[\ud800-\udfff]/;

/** How far surrogates rise to sort above everything that is one code unit: up to U+FFFF. */
const SURROGATE_RISE = 0x1_0000 - SURROGATE_END;

/** How far the units behind them sink to make room for them. */
const SINK = SURROGATE_END - SURROGATE_FIRST;

/**
 * Orders two strings by code point: negative, zero or positive. JavaScript's own
 * comparison goes by UTF-16 code unit, which puts U+1F600 before U+FF5E.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const unitA = a.charCodeAt(i);
    const unitB = b.charCodeAt(i);
    if (unitA !== unitB) return ranked(unitA) - ranked(unitB);
  }
  return a.length - b.length;
}

/** Whether a string has code units that JavaScript's own comparison puts in another place. */
export function hasSurrogates(text: string): boolean {
  return SURROGATE.test(text);
}

function ranked(unit: number): number {
  if (unit >= SURROGATE_END) return unit - SINK;
  return unit >= SURROGATE_FIRST ? unit + SURROGATE_RISE : unit;
}
