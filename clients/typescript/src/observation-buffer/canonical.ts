/**
 * A value of JSON with the keys of all its objects in one order: a store that keeps them in another one, such as
 * `jsonb`, does not change the text that it is sent as, by which the service knows the body of a key.
 */
export function canonical<T>(value: T): T {
  if (Array.isArray(value)) return value.map(canonical) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, canonical(inner)]);
  // Defines each key, also `__proto__`, instead of setting it.
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
