/**
 * Maximum height of a scrolled list, in pixels. Browsers draw nothing beyond about 17 million
 * pixels. In a longer list, scrolling by one pixel moves several rows.
 */
const SCROLL_PX_MAX = 10_000_000;

/** Geometry of a scrolled list with equally high rows. */
export type ScrolledList = {
  readonly rows: number;
  readonly rowPx: number;
  /** Height of the viewport including the table head, in pixels. */
  readonly viewPx: number;
  /** Number of visible rows. */
  readonly shown: number;
};

/** Height of the whole list, in pixels. */
export function scrollHeightOf({ rows, rowPx }: ScrolledList): number {
  // The table head has the height of a row.
  return Math.min((rows + 1) * rowPx, SCROLL_PX_MAX);
}

/** Index of the first visible row at a scroll position. */
export function firstRowAt(list: ScrolledList, scrollTop: number): number {
  const range = scrollHeightOf(list) - list.viewPx;
  if (range <= 0) return 0;
  return Math.round((Math.min(scrollTop, range) / range) * lastFirstRow(list));
}

/** Scroll position that shows `first` as the first row. */
export function scrollTopOf(list: ScrolledList, first: number): number {
  const last = lastFirstRow(list);
  if (last === 0) return 0;
  return (first / last) * (scrollHeightOf(list) - list.viewPx);
}

/** Index of the first visible row when scrolled to the end. */
export function lastFirstRow({ rows, shown }: ScrolledList): number {
  return Math.max(0, rows - shown);
}

/** First visible row after a key press. Undefined for keys that do not scroll. */
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
