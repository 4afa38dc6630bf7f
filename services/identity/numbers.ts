/**
 * Element `index` of `vector`, which the caller knows to exist.
 *
 * Every vector here has a fixed length and every index comes from a bounded loop or from the state
 * layout, so the `undefined` that the type checker adds to an index can not occur. The claim stands
 * in this one place, and the compiled code is a plain load.
 */
export function at(vector: Float64Array, index: number): number {
  return vector[index] as number;
}

/** `value`, kept inside [`low`, `high`]. */
export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
