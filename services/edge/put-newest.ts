/** Makes an entry the newest of a map that holds `entriesMax` at most; the oldest makes room. */
export function putNewest<Value>(
  entries: Map<string, Value>,
  key: string,
  value: Value,
  entriesMax: number,
): void {
  entries.delete(key);
  if (entries.size >= entriesMax) entries.delete(entries.keys().next().value ?? '');
  entries.set(key, value);
}
