import { useEffect, useRef, useState } from 'preact/hooks';
import { instanceCalls } from '#pages/instance/calls';
import type { HistoryRow } from '#pages/instance/events';
import { HistoryRows, lastFirstRow, type ScrolledList } from '#pages/instance/history-window';
import type { InstanceView } from '#pages/instance/live';
import { Refused } from '#pages/shell/api';

/** Rows of one request. Chosen: a screen and what is scrolled to next. */
const LOAD_ROWS = 200;

/** How long scrolling must rest before rows are asked for, in milliseconds. Chosen: below what is felt. */
const REST_MS = 80;

/** How often the same row is asked for: it may have left the retention meanwhile. Chosen. */
const TRIES_MAX = 3;

/** Rows that are seen at once. */
const SHOWN_ROWS = 12;

/** What the document has made of a row, and of what scrolls. */
type Sizes = Pick<ScrolledList, 'rowPx' | 'viewPx'>;

/** A history as it is scrolled: row 0 is the newest one. */
export type History = {
  readonly isLoaded: boolean;
  readonly list: ScrolledList;
  /** The first row that is seen. */
  readonly first: number;
  /** Observations above the newest row: rows stay where they are while one looks at older ones. */
  readonly newer: number;
  readonly refusal: Refused | undefined;
  /** The cycle of a row, and what is known of it. */
  readonly rowAt: (index: number) => {
    readonly cycle: number;
    readonly row: HistoryRow | undefined;
  };
  readonly scrollTo: (first: number) => void;
  /** Measured by what draws them. */
  readonly setSizes: (sizes: Sizes) => void;
  readonly retry: () => void;
};

/** What an answer says: the newest cycle then, and how many are kept. */
type Extent = { readonly newest: number; readonly total: number };

/**
 * The history of a generation, of which rows are loaded when they are seen, one request at a time. New
 * observations come from the stream: none is asked for.
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
  // At the top the newest are followed; below it nothing moves under the reader's eyes.
  const topmost = first === 0 ? newest : top;
  const oldest = extent === undefined ? topmost + 1 : extent.newest - extent.total + 1;
  const list = { rows: topmost - oldest + 1, ...sizes, shown: SHOWN_ROWS };
  const last = Math.min(first + SHOWN_ROWS, list.rows) - 1;
  const missing = rows.missing(topmost - first, topmost - last);

  const { refusal, retry } = useLoading(extent === undefined ? newest : missing, async (cycle) => {
    const offset = Math.max(0, newest - cycle);
    const query = { offset, limit: LOAD_ROWS, generation: 'current' } as const;
    const { data, pagination } = await instanceCalls.history(id, query);
    rows.add(data);
    // More may have been observed than this page knows, and older ones may have left the retention.
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

/** Has `load` run for the cycle that is wanted, once it has been wanted for a moment, until it is there. */
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
    const isVain = cycle === wanted && times >= TRIES_MAX;
    if (wanted === undefined || refusal !== undefined || isVain) return undefined;
    const timer = setTimeout(() => void run(wanted), REST_MS);
    return () => clearTimeout(timer);
  }, [wanted, loads, refusal]);
  const retry = () => {
    tried.current = { cycle: -1, times: 0 };
    setRefusal(undefined);
  };
  return { refusal, retry };
}

/** Puts observations of the stream that are new, and of the present generation, to the rows. */
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
