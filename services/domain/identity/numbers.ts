/**
 * Element `index` of `vector`. The caller guarantees that the element exists.
 *
 * Vectors have fixed lengths, and indexes come from bounded loops or from the state layout. So an
 * index never yields `undefined`. Only this function asserts that, and it compiles to a plain load.
 */
export function at(vector: Float64Array, index: number): number {
  return vector[index] as number;
}

/** `value` limited to [`low`, `high`]. */
export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
