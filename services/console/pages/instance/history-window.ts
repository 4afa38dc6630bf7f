import type { HistoryRow } from '#pages/instance/events';

/**
 * The tallest that a scrolled list is made, in pixels: browsers draw nothing beyond 17 million. A list of
 * more rows is scrolled by several rows a pixel.
 */
const SCROLL_PX_MAX = 10_000_000;

/** Rows that are kept in memory. Chosen: a few pages to both sides. */
const KEPT_ROWS_MAX = 4_000;

/** How a list of rows of one height lies in what scrolls it. */
export type ScrolledList = {
  readonly rows: number;
  readonly rowPx: number;
  /** How much of the list is seen, with its head, in pixels. */
  readonly viewPx: number;
  /** Rows that are seen at once. */
  readonly shown: number;
};

/** How tall the whole list is made, in pixels. */
export function scrollHeightOf({ rows, rowPx }: ScrolledList): number {
  // The head is as tall as a row.
  return Math.min((rows + 1) * rowPx, SCROLL_PX_MAX);
}

/** The first row that is seen at a scroll position, from 0. */
export function firstRowAt(list: ScrolledList, scrollTop: number): number {
  const range = scrollHeightOf(list) - list.viewPx;
  if (range <= 0) return 0;
  return Math.round((Math.min(scrollTop, range) / range) * lastFirstRow(list));
}

/** The scroll position at which a row is the first one. */
export function scrollTopOf(list: ScrolledList, first: number): number {
  const last = lastFirstRow(list);
  if (last === 0) return 0;
  return (first / last) * (scrollHeightOf(list) - list.viewPx);
}

/** The first row when the end of the list is seen. */
export function lastFirstRow({ rows, shown }: ScrolledList): number {
  return Math.max(0, rows - shown);
}

/** The first row after a key, or undefined for keys that do not scroll. */
export function rowAfterKey(key: string, first: number, list: ScrolledList): number | undefined {
  const page = Math.max(1, list.shown - 1);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: first + 1,
    ArrowUp: first - 1,
    PageDown: first + page,
    PageUp: first - page,
    Home: 0,
    End: lastFirstRow(list),
  };
  const next = steps[key];
  return next === undefined ? undefined : Math.min(Math.max(0, next), lastFirstRow(list));
}

/** Rows of a history by their cycles; the ones that came first are forgotten first. */
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

  /** The newest cycle from `newest` down to `oldest` that is not there. */
  missing(newest: number, oldest: number): number | undefined {
    for (let cycle = newest; cycle >= oldest; cycle -= 1) if (!this.#rows.has(cycle)) return cycle;
    return undefined;
  }
}
