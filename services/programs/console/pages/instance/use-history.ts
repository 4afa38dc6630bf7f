import { useEffect, useRef, useState } from 'preact/hooks';
import { instanceApi } from '#pages/instance/api';
import type { HistoryRow } from '#pages/instance/events';
import { HistoryRows } from '#pages/instance/history-rows';
import type { InstanceView } from '#pages/instance/live';
import { lastFirstRow, type ScrolledList } from '#pages/parts/scrolled-list';
import { Refused } from '#pages/shell/api';
import { useRetry } from '#pages/shell/loaded';

/** Number of rows per request: the visible rows, and the rows that scrolling shows next. */
const LOAD_ROWS = 200;

/** Pause in scrolling before rows are requested, in milliseconds. Too short to notice. */
const REST_MS = 80;

/** Maximum number of requests for the same row. Retention may have deleted the row. */
const ATTEMPTS_MAX = 3;

/** Number of visible rows. */
const SHOWN_ROWS = 12;

/** Measured heights of row and viewport. */
type Sizes = Pick<ScrolledList, 'rowPx' | 'viewPx'>;

/** State of a scrolled history. Row 0 is the newest. */
export type History = {
  readonly isLoaded: boolean;
  readonly list: ScrolledList;
  /** Index of the first visible row. */
  readonly first: number;
  /**
   * Number of observations newer than row 0. Rows do not move while the reader looks at older rows.
   */
  readonly newer: number;
  readonly refusal: Refused | undefined;
  /** Cycle of a row, and its data if loaded. */
  readonly rowAt: (index: number) => {
    readonly cycle: number;
    readonly row: HistoryRow | undefined;
  };
  readonly scrollTo: (first: number) => void;
  /** Called with measured heights. */
  readonly setSizes: (sizes: Sizes) => void;
  readonly retry: () => void;
};

/** Newest cycle and number of stored rows, according to the last answer. */
type Extent = { readonly newest: number; readonly total: number };

/**
 * Loads the history of a generation on demand, one request at a time. New observations come from
 * the stream and need no request.
 */
export function useHistory(id: string, view: InstanceView): History {
  const { now } = view;
  const [rows] = useState(() => new HistoryRows());
  const [extent, setExtent] = useState<Extent | undefined>();
  const [{ first, top }, setPlace] = useState({ first: 0, top: 0 });
  const [sizes, setSizes] = useState<Sizes>({ rowPx: 36, viewPx: 468 });
  const seen = useRef(0);
  takeNew(rows, view, seen);

  const newest = Math.max(extent?.newest ?? 0, now?.snapshot.cycle ?? 0);
  // At the top, the list follows new observations. Below the top, rows do not move.
  const topmost = first === 0 ? newest : top;
  const oldest = extent === undefined ? topmost + 1 : extent.newest - extent.total + 1;
  const list = { rows: topmost - oldest + 1, ...sizes, shown: SHOWN_ROWS };
  const last = Math.min(first + SHOWN_ROWS, list.rows) - 1;
  const missing = rows.missing(topmost - first, topmost - last);

  const { refusal, retry } = useLoading(extent === undefined ? newest : missing, async (cycle) => {
    const offset = Math.max(0, newest - cycle);
    const query = { offset, limit: LOAD_ROWS, generation: 'current' } as const;
    const { data, pagination } = await instanceApi.history(id, query);
    rows.add(data);
    // The answer may have newer observations than the stream, and retention may have deleted old
    // observations. Therefore the extent comes from the answer.
    const newestThen = data[0] === undefined ? newest : data[0].cycle + offset;
    setExtent({ newest: newestThen, total: pagination.total });
  });

  return {
    ...{ isLoaded: extent !== undefined, list, first, refusal, retry, setSizes },
    newer: newest - topmost,
    rowAt: (index) => ({ cycle: topmost - index, row: rows.get(topmost - index) }),
    scrollTo: (next) => setPlace({ first: Math.min(next, lastFirstRow(list)), top: topmost }),
  };
}

/**
 * Calls `load` for the wanted cycle, after a pause of `REST_MS`. Stops after `ATTEMPTS_MAX` calls for
 * the same cycle.
 */
function useLoading(wanted: number | undefined, load: (cycle: number) => Promise<void>) {
  const [refusal, setRefusal] = useState<Refused | undefined>();
  const [loads, setLoads] = useState(0);
  const isLoading = useRef(false);
  const tried = useRef({ cycle: -1, times: 0 });
  const run = async (cycle: number): Promise<void> => {
    if (isLoading.current) return;
    isLoading.current = true;
    const { current } = tried;
    tried.current = { cycle, times: current.cycle === cycle ? current.times + 1 : 1 };
    try {
      await load(cycle);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setRefusal(error);
    } finally {
      isLoading.current = false;
      setLoads((count) => count + 1);
    }
  };
  useEffect(() => {
    const { cycle, times } = tried.current;
    const isVain = cycle === wanted && times >= ATTEMPTS_MAX;
    if (wanted === undefined || refusal !== undefined || isVain) return undefined;
    const timer = setTimeout(() => void run(wanted), REST_MS);
    return () => clearTimeout(timer);
  }, [wanted, loads, refusal]);
  const retry = () => {
    tried.current = { cycle: -1, times: 0 };
    setRefusal(undefined);
  };
  useRetry(refusal, retry, refusal === undefined && loads > 0);
  return { refusal, retry };
}

/** Adds new observations of the present generation from the stream. */
function takeNew(
  rows: HistoryRows,
  { cycles, generation }: InstanceView,
  seen: { current: number },
): void {
  const fresh = cycles.slice(cycles.findLastIndex(({ ordinal }) => ordinal <= seen.current) + 1);
  rows.add(
    fresh.map(({ observation }) => observation).filter((row) => row.generation === generation),
  );
  seen.current = cycles.at(-1)?.ordinal ?? seen.current;
}
