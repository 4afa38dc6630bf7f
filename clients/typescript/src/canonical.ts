/** Levels that are looked at: more than the service takes (interface 8.4). A value that contains itself has more. */
const LEVELS_MAX = 32;

/**
 * A value of JSON with the keys of all its plain objects in one order: neither a store that keeps them in another
 * one, such as `jsonb`, nor a caller that writes them so changes the text that is sent, by which the service knows
 * the body of a key.
 */
export function canonical<T>(value: T, level = 0): T {
  if (typeof value !== 'object' || value === null || level > LEVELS_MAX) return value;
  if (Array.isArray(value)) return value.map((item) => canonical(item, level + 1)) as T;
  // Dates and the like have a text of their own.
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, canonical(inner, level + 1)]);
  // Defines each key, also `__proto__`, instead of setting it.
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
