import type { HistoryEntry } from '#edge/engine-reads';

/** Reads of one search: halving finds any of 2^53 observations with fewer, but for its first two. */
const READS_MAX = 60;

/** Searches of an instance that is reset or trimmed meanwhile; each is over in milliseconds. Chosen. */
const TRIES_MAX = 3;

/** The observation with `offset` newer ones; undefined: there is none that can be read. */
type ReadAt = (offset: number) => Promise<HistoryEntry | undefined>;

/**
 * How many observations of an instance's present generation have their own time at or after `sinceMs`
 * (Unix milliseconds) and can be read. Times rise within a generation (interface 8.3), so halving
 * finds the first of them. Rejects as `readAt` does.
 */
export async function cyclesSince(sinceMs: number, readAt: ReadAt): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const found = await searched(sinceMs, readAt);
    if (found !== undefined) return found;
  }
  // It is reset faster than it is read: nothing of it lasts.
  return 0;
}

/** Undefined: the generation that it began with is over, or was trimmed. */
async function searched(sinceMs: number, readAt: ReadAt): Promise<number | undefined> {
  const first = await readAt(0);
  if (first === undefined || first.timestampMs < sinceMs) return 0;
  let newest = first.cycle;
  let inside = first.cycle;
  // What cannot be read any more counts as before.
  let before = first.cycle - first.total;
  // Most instances are younger than the month or have all of it before: so the oldest is read first.
  let wanted = before + 1;
  for (let reads = 1; inside - before > 1; reads += 1) {
    const offset = newest - wanted;
    const entry = reads < READS_MAX ? await readAt(offset) : undefined;
    if (entry === undefined || entry.cycle + offset < newest) return undefined;
    // Observations that came meanwhile move what an offset leads to.
    newest = entry.cycle + offset;
    if (entry.timestampMs < sinceMs) before = Math.max(before, entry.cycle);
    else inside = Math.min(inside, entry.cycle);
    wanted = before + Math.floor((inside - before) / 2);
  }
  return newest - before;
}
