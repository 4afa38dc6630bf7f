/** Number of parts of a full map. An eviction drops the oldest part. */
const PARTS = 64;

/**
 * Inserts an entry as the newest of an LRU map with at most `entriesMax` entries. Evicts a whole
 * part at once, because finding a map's first entry gets slower with every deleted entry.
 */
export function putNewest<Value>(
  entries: Map<string, Value>,
  key: string,
  value: Value,
  entriesMax: number,
): void {
  entries.delete(key);
  if (entries.size >= entriesMax) dropOldest(entries, Math.ceil(entriesMax / PARTS));
  entries.set(key, value);
}

function dropOldest(entries: Map<string, unknown>, count: number): void {
  let left = count;
  for (const key of entries.keys()) {
    if (left === 0) return;
    entries.delete(key);
    left -= 1;
  }
}
