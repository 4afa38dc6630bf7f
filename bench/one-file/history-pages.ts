import type { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { observationsOf } from '#bench/one-file/histories';
import { timed } from '#bench/scale/rates/latencies';
import { seededId } from '#bench/scale/seed';

/** Rows per page: the API's default. */
const LIMIT = 100;

/**
 * Reads a history page of each instance, sequentially. Returns the times in ms. Throws if a page is
 * wrong.
 */
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

/** Throws unless the page has the expected rows, newest first. */
function check(answer: unknown, total: number, offset: number): void {
  const rows = at(answer, ['data']);
  const cycles = Array.isArray(rows) ? rows.map((row) => at(row, ['cycle'])) : [];
  const expected = Array.from({ length: Math.min(LIMIT, total - offset) }, (_, i) => {
    return total - offset - i;
  });
  if (cycles.join() === expected.join()) return;
  throw new Error(`expected ${expected.length} rows from offset ${offset}, got cycles ${cycles}`);
}
