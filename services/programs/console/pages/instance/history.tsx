import { useEffect, useRef, useState } from 'preact/hooks';
import type { HistoryRow } from '#pages/instance/events';
import {
  firstRowAt,
  rowAfterKey,
  scrollHeightOf,
  scrollTopOf,
} from '#pages/instance/history-window';
import { type ChartPoint, LINES } from '#pages/instance/lines';
import type { InstanceView } from '#pages/instance/live';
import { type History, useHistory } from '#pages/instance/use-history';
import { counted, levelText, numberText } from '#pages/parts/format';
import { Dialog } from '#view/parts/dialog';
import { Empty, RefusalNotice, Skeleton } from '#view/parts/notice';
import { TimeText } from '#view/parts/text';

/** History of the present generation, newest first. The number of rows is not limited. */
export function HistoryPart({ id, view }: { readonly id: string; readonly view: InstanceView }) {
  const history = useHistory(id, view);
  const [open, setOpen] = useState<HistoryRow | undefined>();
  return (
    <section class="card" aria-labelledby="history">
      <div class="card-head">
        <h2 id="history">History</h2>
        {history.isLoaded ? (
          <p class="quiet">
            {counted(history.list.rows, 'observation')} of this generation, newest first
          </p>
        ) : null}
      </div>
      <Shown history={history} onContext={setOpen} />
      {open === undefined ? null : (
        <Dialog
          title={`Context of cycle ${numberText(open.cycle)}`}
          onClose={() => setOpen(undefined)}
        >
          <pre class="context">{JSON.stringify(open.context, undefined, 2)}</pre>
          <div class="dialog-buttons">
            <button type="button" class="is-main" onClick={() => setOpen(undefined)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function Shown({
  history,
  onContext,
}: {
  readonly history: History;
  readonly onContext: (row: HistoryRow) => void;
}) {
  const { refusal, retry } = history;
  return (
    <>
      {!history.isLoaded && refusal === undefined ? <Skeleton what="history" /> : null}
      {history.isLoaded && history.list.rows === 0 ? (
        <Empty title="No observation in this generation yet" />
      ) : null}
      {history.isLoaded && history.list.rows > 0 ? (
        <HistoryTable history={history} onContext={onContext} />
      ) : null}
      <RefusalNotice refusal={refusal} />
      {refusal === undefined ? null : (
        <p>
          <button type="button" onClick={retry}>
            Try again
          </button>
        </p>
      )}
    </>
  );
}

type HistoryTableProps = {
  readonly history: History;
  readonly onContext: (row: HistoryRow) => void;
};

/**
 * Virtualized table: only visible rows are in the document. The scroll height covers all rows, up
 * to the browsers' limit. Arrow and page keys always move by whole rows, also beyond that limit.
 */
function HistoryTable({ history, onContext }: HistoryTableProps) {
  const { list, first, newer } = history;
  const { box, body, onScroll, moveTo } = useScrolling(history);
  const count = Math.min(list.shown, list.rows - first);
  const onKeyDown = (event: KeyboardEvent) => {
    // The focused element inside a row handles its own keys.
    const next = event.target === box.current ? rowAfterKey(event.key, first, list) : undefined;
    if (next === undefined) return;
    event.preventDefault();
    moveTo(next);
  };
  return (
    <>
      {/* Focusable, so that the keyboard can scroll the rows. */}
      <section
        ref={box}
        class="history"
        aria-label="Rows of the history"
        {...{ tabIndex: 0, onScroll, onKeyDown }}
      >
        <div class="history-height" style={{ height: `${scrollHeightOf(list)}px` }}>
          <table class="history-rows" aria-rowcount={list.rows + 1}>
            <caption class="unseen">Observations, newest first</caption>
            <Head />
            <tbody ref={body}>
              {Array.from({ length: count }, (_, offset) => {
                const { cycle, row } = history.rowAt(first + offset);
                const at = first + offset + 2;
                return row === undefined ? (
                  <Awaited key={cycle} cycle={cycle} at={at} />
                ) : (
                  <Row key={cycle} row={row} at={at} onContext={onContext} />
                );
              })}
            </tbody>
          </table>
        </div>
      </section>
      <p class="button-row">
        <span class="quiet">
          Rows {numberText(first + 1)} to {numberText(first + count)} of {numberText(list.rows)}
        </span>
        {newer === 0 ? null : (
          <button type="button" class="is-small" onClick={() => moveTo(0)}>
            Show {numberText(newer)} newer
          </button>
        )}
      </p>
    </>
  );
}

/** Keeps the list position and the scroll position in sync. */
function useScrolling({ list, first, scrollTo, setSizes }: History) {
  const box = useRef<HTMLElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  /** Last scroll position that this code set. The scroll event for this position is ignored. */
  const own = useRef(-1);
  useEffect(() => {
    // Row heights change with the font and the width.
    const sizes = new ResizeObserver(() => {
      const rowPx = body.current?.rows[0]?.getBoundingClientRect().height ?? 0;
      const viewPx = box.current?.clientHeight ?? 0;
      if (rowPx > 0 && viewPx > 0) setSizes({ rowPx, viewPx });
    });
    if (body.current !== null) sizes.observe(body.current);
    return () => sizes.disconnect();
  }, []);
  const moveTo = (next: number) => {
    scrollTo(next);
    if (box.current === null) return;
    box.current.scrollTop = scrollTopOf(list, next);
    own.current = box.current.scrollTop;
  };
  const onScroll = () => {
    const { scrollTop } = box.current ?? { scrollTop: 0 };
    if (Math.abs(scrollTop - own.current) < 1) return;
    own.current = -1;
    const next = firstRowAt(list, scrollTop);
    if (next !== first) scrollTo(next);
  };
  return { box, body, onScroll, moveTo };
}

function Head() {
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col">Cycle</th>
        <th scope="col">Time</th>
        <th scope="col">Mode</th>
        <th scope="col" class="is-number">
          Signal
        </th>
        <th scope="col" class="is-number">
          Confidence
        </th>
        <th scope="col">Context</th>
      </tr>
    </thead>
  );
}

function Awaited({ cycle, at }: { readonly cycle: number; readonly at: number }) {
  return (
    <tr aria-rowindex={at} aria-busy="true">
      <th scope="row">{numberText(cycle)}</th>
      <td colSpan={5} class="quiet">
        …
      </td>
    </tr>
  );
}

function Row({
  row,
  at,
  onContext,
}: {
  readonly row: HistoryRow;
  readonly at: number;
  readonly onContext: (row: HistoryRow) => void;
}) {
  const { cycle, timestamp, mode_target: mode, signal_strength: signal, confidence, context } = row;
  const text = JSON.stringify(context);
  return (
    <tr aria-rowindex={at}>
      <th scope="row">{numberText(cycle)}</th>
      <td class="is-time">
        <TimeText at={timestamp} precision="second" />
      </td>
      <td class="is-mode">{mode.replace('_', ' ').toLowerCase()}</td>
      <td class="is-number">{levelText(signal)}</td>
      <td class="is-number is-confidence">{levelText(confidence)}</td>
      <td class="is-context">
        {text === '{}' ? (
          <span class="quiet">–</span>
        ) : (
          <button type="button" class="is-link" onClick={() => onContext(row)}>
            <span class="unseen">Context of cycle {cycle}: </span>
            {text}
          </button>
        )}
      </td>
    </tr>
  );
}

/** Maximum number of rows in the table of a chart's points. */
const ROWS_MAX = 50;

type PointsTableProps = {
  readonly points: readonly ChartPoint[];
  readonly unit: string;
  readonly label: string;
};

/** Expandable table of a chart's points, newest first. */
export function PointsTable({ points, unit, label }: PointsTableProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show the numbers</summary>
      {isOpen ? <Rows {...{ points, unit, label }} /> : null}
    </details>
  );
}

function Rows({ points, unit, label }: PointsTableProps) {
  const shown = points.slice(-ROWS_MAX).toReversed();
  return (
    <>
      {points.length > ROWS_MAX ? (
        <p class="quiet">
          The newest {ROWS_MAX} of {numberText(points.length)} states.
        </p>
      ) : null}
      <table class="rows is-plain">
        <caption class="unseen">{label}</caption>
        <thead>
          <tr>
            <th scope="col">{unit}</th>
            {LINES.map(({ name }) => (
              <th key={name} scope="col" class="is-number">
                {name}
              </th>
            ))}
            <th scope="col">Stress</th>
            <th scope="col">Drift</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ x, at, report }, index) => (
            // After a reset, two states can have the same observation.
            <tr key={`${x} ${report.snapshot.cycle} ${index}`}>
              <th scope="row">
                {numberText(x)}
                {at === undefined ? null : (
                  <span class="row-more">
                    <TimeText at={at} precision="second" />
                  </span>
                )}
              </th>
              {LINES.map(({ name, levelOf }) => (
                <td key={name} data-label={name} class="is-number">
                  {levelText(levelOf(report))}
                </td>
              ))}
              <td data-label="Stress">{report.snapshot.stress_state}</td>
              <td data-label="Drift">{report.drift.level}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
