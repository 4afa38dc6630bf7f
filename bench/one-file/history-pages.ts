import type { HttpCaller } from '#bench/http-caller';
import { observationsOf } from '#bench/one-file/histories';
import { at } from '#bench/process-answer';
import { timed } from '#bench/scale/latencies';
import { seededId } from '#bench/scale/seed';

/** Rows of a page: what the API gives unless it is asked for another number. */
const LIMIT = 100;

/** Reads a page of each of these instances, one at a time; gives the times in ms. Throws for a wrong one. */
export async function readPages(
  caller: HttpCaller,
  indexes: readonly number[],
  offset = 0,
): Promise<number[]> {
  const times: number[] = [];
  for (const index of indexes) {
    const path = `/v1/instances/${seededId(index)}/history?limit=${LIMIT}&offset=${offset}`;
    const { ms, answer } = await timed(() => caller.send({ method: 'GET', path }));
    times.push(ms);
    check(answer, observationsOf(index), offset);
  }
  return times;
}

/** Throws unless the page has the rows that lie there, newest first. */
function check(answer: unknown, total: number, offset: number): void {
  const rows = at(answer, ['data']);
  const cycles = Array.isArray(rows) ? rows.map((row) => at(row, ['cycle'])) : [];
  const expected = Array.from({ length: Math.min(LIMIT, total - offset) }, (_, i) => {
    return total - offset - i;
  });
  if (cycles.join() === expected.join()) return;
  throw new Error(`a page of ${expected.length} rows from ${offset} expected, not ${cycles}`);
}
