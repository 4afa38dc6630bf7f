import type { HistoryRow } from '#pages/instance/events';

/** Maximum number of cached rows. Holds a few pages before and after the visible rows. */
const KEPT_ROWS_MAX = 4_000;

/** Cache of history rows by cycle. The oldest inserted rows are evicted first. */
export class HistoryRows {
  readonly #rows = new Map<number, HistoryRow>();

  get(cycle: number): HistoryRow | undefined {
    return this.#rows.get(cycle);
  }

  add(rows: readonly HistoryRow[]): void {
    for (const row of rows) {
      this.#rows.delete(row.cycle);
      this.#rows.set(row.cycle, row);
    }
    for (const cycle of this.#rows.keys()) {
      if (this.#rows.size <= KEPT_ROWS_MAX) break;
      this.#rows.delete(cycle);
    }
  }

  /** Newest cycle between `newest` and `oldest` that is not cached. */
  missing(newest: number, oldest: number): number | undefined {
    for (let cycle = newest; cycle >= oldest; cycle -= 1) if (!this.#rows.has(cycle)) return cycle;
    return undefined;
  }
}
