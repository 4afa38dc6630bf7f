/*
 * Nearest name for an error message. Separate from tool-policy.ts, because every part that checks
 * names suggests names in the same way.
 */

/** Maximum edit distance of a suggestion, as a share of the name's length. */
const DISTANCE_SHARE_MAX = 0.5;

/** The known name with the smallest edit distance; undefined if every name is far away. */
export function nearestOf(given: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = DISTANCE_SHARE_MAX * given.length;
  for (const name of known) {
    const distance = distanceOf(given.toLowerCase(), name.toLowerCase());
    if (distance > least || (distance === least && nearest !== undefined)) continue;
    [nearest, least] = [name, distance];
  }
  return nearest;
}

/** Levenshtein distance of two names. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
