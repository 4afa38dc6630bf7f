import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AccountEvent, ListedInstance } from '#clients/typescript/src/models';
import { fleetApi, isOfRebuilding, REBUILDING_MS } from '#pages/fleet/api';
import { rowAfter } from '#pages/fleet/live-counts';
import { FleetRows, PAGE_ROWS, type WantedPage } from '#pages/fleet/rows';
import { type FleetView, queryOf } from '#pages/fleet/view';
import type { ScrolledList } from '#pages/parts/scrolled-list';
import { Refused } from '#pages/shell/api';
import { useRetry } from '#pages/shell/loaded';

/** Pause in scrolling before rows are requested, in milliseconds. Too short to notice. */
const REST_MS = 80;

/** Number of visible rows. */
export const SHOWN_ROWS = 14;

type Sizes = Pick<ScrolledList, 'rowPx' | 'viewPx'>;

/** Rows of the fleet that a view selects. */
export type FleetList = {
  /** Number of selected instances. Undefined before the first answer. */
  readonly total: number | undefined;
  readonly list: ScrolledList;
  /** Index of the first visible row. */
  readonly first: number;
  readonly rowAt: (index: number) => ListedInstance | undefined;
  /** Cached rows, in the order of their arrival. */
  readonly loaded: () => readonly ListedInstance[];
  readonly refusal: Refused | undefined;
  /** Whether the service builds its index; the rows follow within seconds. */
  readonly isRebuilding: boolean;
  readonly scrollTo: (first: number) => void;
  readonly setSizes: (sizes: Sizes) => void;
  /** Changes rows in place. The order stays as it was loaded. */
  readonly apply: (events: readonly AccountEvent[]) => void;
  /** Loads the rows again, from the first row. */
  readonly reload: () => void;
};

/**
 * Loads the rows of a view on demand, one page at a time. `rowsBelow` is the number of rows that an
 * opened row covers.
 */
export function useFleetRows(view: FleetView, rowsBelow: number): FleetList {
  const query = queryOf(view).toString();
  const [round, setRound] = useState(0);
  const rows = useMemo(() => new FleetRows(view.order.startsWith('changed_at')), [query, round]);
  const [{ first, of }, setPlace] = useState({ first: 0, of: rows });
  const [sizes, setSizes] = useState<Sizes>({ rowPx: 40, viewPx: 600 });
  const top = of === rows ? first : 0;
  const shown = Math.max(1, SHOWN_ROWS - rowsBelow);
  const list = { rows: rows.length, ...sizes, shown };
  const wanted = rows.missing(top, top + shown - 1);
  const { refusal, isRebuilding, redraw } = useLoading(rows, wanted, query);
  return {
    ...{ total: rows.total, list, first: top, refusal, isRebuilding, setSizes },
    rowAt: (index) => rows.at(index),
    loaded: () => [...rows.rows()],
    scrollTo: (next) => setPlace({ first: next, of: rows }),
    apply(events) {
      const changed = events.filter((event) =>
        rows.change(event.instance_id, (row) => rowAfter(row, event)),
      );
      if (changed.length > 0) redraw();
    },
    reload: () => setRound((count) => count + 1),
  };
}

/** Loads the wanted page, one request at a time. */
function useLoading(rows: FleetRows, wanted: WantedPage | undefined, query: string) {
  const [outcome, setOutcome] = useState<{ of?: FleetRows; refusal?: Refused }>({});
  const [draws, setDraws] = useState(0);
  const isLoading = useRef(false);
  const refusal = outcome.of === rows ? outcome.refusal : undefined;
  const isRebuilding = isOfRebuilding(refusal);
  const wantedText = JSON.stringify(wanted);
  const load = async (page: WantedPage): Promise<void> => {
    if (isLoading.current) return;
    isLoading.current = true;
    try {
      rows.add(page, await fleetApi.list(pageQuery(query, page)));
      setOutcome({ of: rows });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setOutcome({ of: rows, refusal: error });
    } finally {
      isLoading.current = false;
      setDraws((count) => count + 1);
    }
  };
  useRetry(
    isRebuilding ? undefined : refusal,
    () => setOutcome({ of: rows }),
    refusal === undefined && rows.total !== undefined,
  );
  useEffect(() => {
    if (wanted === undefined || (refusal !== undefined && !isRebuilding)) return undefined;
    const timer = setTimeout(() => void load(wanted), isRebuilding ? REBUILDING_MS : REST_MS);
    return () => clearTimeout(timer);
  }, [rows, wantedText, draws, refusal]);
  return { refusal, isRebuilding, redraw: () => setDraws((count) => count + 1) };
}

function pageQuery(query: string, { offset, cursor }: WantedPage): URLSearchParams {
  const params = new URLSearchParams(query);
  params.set('limit', String(PAGE_ROWS));
  if (cursor !== undefined) params.set('cursor', cursor);
  else if (offset > 0) params.set('offset', String(offset));
  return params;
}
