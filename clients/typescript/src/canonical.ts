/**
 * Maximum processed levels: above the service's limit (interface 8.4). The bound also stops at
 * cyclic values.
 */
const LEVELS_MAX = 32;

/**
 * Sorts the keys of all plain objects in a JSON value, so that equal values always give the same
 * text. The service compares the bodies sent under one idempotency key as text. Stores such as
 * `jsonb` change the key order, and so do callers.
 */
export function canonical<T>(value: T, level = 0): T {
  if (typeof value !== 'object' || value === null || level > LEVELS_MAX) return value;
  if (Array.isArray(value)) return value.map((item) => canonical(item, level + 1)) as T;
  // Other objects, such as dates, have their own JSON form.
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, canonical(inner, level + 1)]);
  // Define keys instead of assigning them, because of `__proto__`.
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
