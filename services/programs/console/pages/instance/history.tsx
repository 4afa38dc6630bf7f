import { useState } from 'preact/hooks';
import type { HistoryRow } from '#pages/instance/events';
import type { InstanceView } from '#pages/instance/live';
import { type History, useHistory } from '#pages/instance/use-history';
import { counted, levelText, numberText } from '#pages/parts/format';
import { Dialog } from '#view/parts/dialog';
import { Empty, RefusalNotice, Skeleton } from '#view/parts/notice';
import { TimeText } from '#view/parts/text';
import { VirtualTable } from '#view/parts/virtual-table';

/** History of the present generation, newest first. The number of rows is not limited. */
export function HistoryPart({ id, view }: { readonly id: string; readonly view: InstanceView }) {
  const history = useHistory(id, view);
  const [open, setOpen] = useState<HistoryRow | undefined>();
  return (
    <section class="card" aria-labelledby="history">
      <div class="card-head">
        <h2 id="history" tabIndex={-1}>
          History
        </h2>
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
          <button
            type="button"
            onClick={() => {
              // The button disappears, so the focus moves first.
              document.getElementById('history')?.focus();
              retry();
            }}
          >
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

function HistoryTable({ history, onContext }: HistoryTableProps) {
  const { list, first, newer, scrollTo, setSizes } = history;
  const count = Math.min(list.shown, list.rows - first);
  return (
    <>
      <VirtualTable
        {...{ list, first, onFirst: scrollTo, onSizes: setSizes, head: <Head /> }}
        rowsHigh={list.shown}
        label="Rows of the history"
        caption="Observations, newest first"
        style="history-rows"
      >
        {(index, at) => {
          const { cycle, row } = history.rowAt(index);
          return row === undefined ? (
            <Awaited key={cycle} cycle={cycle} at={at} />
          ) : (
            <Row key={cycle} row={row} at={at} onContext={onContext} />
          );
        }}
      </VirtualTable>
      <p class="button-row">
        <span class="quiet">
          Rows {numberText(first + 1)} to {numberText(first + count)} of {numberText(list.rows)}
        </span>
        {newer === 0 ? null : (
          <button
            type="button"
            class="is-small"
            onClick={({ currentTarget }) => {
              // The button disappears, so the focus moves to the rows first.
              currentTarget.closest('section')?.querySelector<HTMLElement>('.scrolled')?.focus();
              scrollTo(0);
            }}
          >
            Show {numberText(newer)} newer
          </button>
        )}
      </p>
    </>
  );
}

function Head() {
  return (
    <>
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
    </>
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
      <td class="is-number is-signal" data-label="signal ">
        {levelText(signal)}
      </td>
      <td class="is-number is-confidence" data-label="confidence ">
        {levelText(confidence)}
      </td>
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
