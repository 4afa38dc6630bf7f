import { useState } from 'preact/hooks';
import { counted, numberText } from '#pages/format';
import type { HistoryRow } from '#pages/instance/instance-events';
import type { InstanceView } from '#pages/instance/live-instance';
import { type History, useHistory } from '#pages/instance/use-history';
import { Dialog } from '#view/dialog';
import { HistoryTable } from '#view/instance/history-table';
import { Empty, RefusalNotice, Skeleton } from '#view/notice';

/** The observations of the present generation, newest first, however many they are. */
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
