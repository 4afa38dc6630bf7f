/** Parts of a full map; to make room its oldest part is dropped. */
const PARTS = 64;

/**
 * Makes an entry the newest of a map that holds `entriesMax` at most; the oldest make room. Many at
 * once, because finding the first entry of a map costs more with every one that has been deleted.
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
