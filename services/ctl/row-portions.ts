/** Rows of one read: as many as a page of the API has at most. */
const ROWS_PER_READ = 1_000;

/** Rows to be read at once: `count` of them, up to the ordinal `newest`. */
export type RowPortion = { readonly newest: number; readonly count: number };

/** The portions in which the rows above the ordinal `below` and up to `total` are read, oldest first. */
export function* rowPortions(below: number, total: number): Generator<RowPortion> {
  for (let done = below; done < total; done += ROWS_PER_READ) {
    const newest = Math.min(total, done + ROWS_PER_READ);
    yield { newest, count: newest - done };
  }
}
