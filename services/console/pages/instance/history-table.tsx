import { useEffect, useRef } from 'preact/hooks';
import { levelText, numberText } from '#pages/format';
import {
  firstRowAt,
  rowAfterKey,
  scrollHeightOf,
  scrollTopOf,
} from '#pages/instance/history-window';
import type { HistoryRow } from '#pages/instance/instance-events';
import type { History } from '#pages/instance/use-history';
import { TimeText } from '#view/time-text';

type HistoryTableProps = {
  readonly history: History;
  readonly onContext: (row: HistoryRow) => void;
};

/**
 * Rows of a long list, of which only those that are seen are in the document. What scrolls is as tall as
 * all of them, or as browsers allow; arrow and page keys go row by row in any case.
 */
export function HistoryTable({ history, onContext }: HistoryTableProps) {
  const { list, first, newer } = history;
  const { box, body, onScroll, moveTo } = useScrolling(history);
  const count = Math.min(list.shown, list.rows - first);
  const onKeyDown = (event: KeyboardEvent) => {
    // Within a row keys are those of what has the focus.
    const next = event.target === box.current ? rowAfterKey(event.key, first, list) : undefined;
    if (next === undefined) return;
    event.preventDefault();
    moveTo(next);
  };
  return (
    <>
      {/* What scrolls must be reached by keyboard. */}
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

/** Keeps the place in the list and the scroll position the same. */
function useScrolling({ list, first, scrollTo, setSizes }: History) {
  const box = useRef<HTMLElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  /** A position that was set here: the event that it brings moves nothing. */
  const own = useRef(-1);
  useEffect(() => {
    // Rows are higher where texts are: with another font, or another width.
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
