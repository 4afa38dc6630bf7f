import { useEffect, useState } from 'preact/hooks';
import type { ListedInstance } from '#clients/typescript/src/models';
import { allOf, BULK_MAX, type BulkAction, type BulkProgress, BulkRun } from '#pages/fleet/bulk';
import { type FleetView, instanceAddress } from '#pages/fleet/view';
import { counted, numberText, waitText } from '#pages/parts/format';
import { useAction } from '#pages/shell/loaded';
import type { Selected } from '#view/fleet/table';
import { ResetField } from '#view/instance/reset-field';
import { Dialog, FormDialog, TypedName } from '#view/parts/dialog';
import { SelectField, TextField } from '#view/parts/field';
import { RefusalNotice, sentence } from '#view/parts/notice';
import { Link } from '#view/shell/router';
import { showMessage } from '#view/shell/toasts';

type Asking = 'tag' | 'untag' | 'reset' | 'delete';

/** Action with its instances. */
type Running = { readonly action: BulkAction; readonly of: readonly ListedInstance[] };

type BulkProps = {
  readonly selected: Selected;
  readonly view: FleetView;
  /** Number of instances that the view selects. */
  readonly total: number;
  readonly onSelect: (selected: Selected) => void;
  readonly isWriter: boolean;
  readonly onClear: () => void;
  /** Called when an action ends. */
  readonly onDone: () => void;
};

/** Bar with the selected instances, and the actions on all of them. Empty without a selection. */
export function BulkBar(props: BulkProps) {
  const { selected, isWriter, onClear, onDone } = props;
  const [asking, setAsking] = useState<Asking | undefined>();
  const [running, setRunning] = useState<Running | undefined>();
  const of = [...selected.values()];
  const [first] = of;
  const start = (action: BulkAction): void => {
    setAsking(undefined);
    setRunning({ action, of });
  };
  return (
    <div class={first === undefined ? '' : 'selected-bar'} role="status">
      {first === undefined ? null : (
        <>
          <p>
            <strong>{of.length === 1 ? first.name : counted(of.length, 'instance')}</strong>{' '}
            selected
          </p>
          <SelectAll {...props} />
          <Compare of={of} />
          {isWriter ? <Actions isTooMany={of.length > BULK_MAX} onAsk={setAsking} /> : null}
          <button type="button" onClick={onClear}>
            Clear
          </button>
        </>
      )}
      {asking === undefined ? null : (
        <AskDialog {...{ asking, of }} onClose={() => setAsking(undefined)} onStart={start} />
      )}
      {running === undefined ? null : (
        <ProgressDialog
          {...running}
          onClose={() => {
            setRunning(undefined);
            onDone();
          }}
        />
      )}
    </div>
  );
}

/** Selects all instances of the view, not only the visible rows. */
function SelectAll({ selected, view, total, onSelect }: BulkProps) {
  const { run, isBusy, refusal } = useAction(async () => {
    onSelect(new Map((await allOf(view)).map((row) => [row.id, row])));
  });
  if (selected.size < 2 || selected.size >= Math.min(total, BULK_MAX)) return null;
  return (
    <>
      <button type="button" onClick={() => run()} aria-disabled={isBusy}>
        {total > BULK_MAX
          ? `Select the first ${numberText(BULK_MAX)}`
          : `Select all ${numberText(total)}`}
      </button>
      <RefusalNotice refusal={refusal} />
    </>
  );
}

function Compare({ of }: { readonly of: readonly ListedInstance[] }) {
  const [first, second, third] = of;
  if (first === undefined || second === undefined || third !== undefined) return null;
  return (
    <Link to={compareAddress(first.id, second.id)} class="button">
      Compare
    </Link>
  );
}

/** Comparison address. */
const compareAddress = (first: string, second: string): string =>
  `/fleet/compare?${new URLSearchParams({ a: first, b: second })}`;

function Actions({
  isTooMany,
  onAsk,
}: {
  readonly isTooMany: boolean;
  readonly onAsk: (asking: Asking) => void;
}) {
  if (isTooMany) return <p class="quiet">Select at most {numberText(BULK_MAX)} for an action.</p>;
  return (
    <>
      <button type="button" onClick={() => onAsk('tag')}>
        Tag …
      </button>
      <button type="button" onClick={() => onAsk('untag')}>
        Remove a tag …
      </button>
      <button type="button" onClick={() => onAsk('reset')}>
        Reset …
      </button>
      <button type="button" class="is-danger-quiet" onClick={() => onAsk('delete')}>
        Delete …
      </button>
    </>
  );
}

/** Asks for the details of an action. A reset and a deletion need a typed confirmation. */
function AskDialog({
  asking,
  of,
  onClose,
  onStart,
}: {
  readonly asking: Asking;
  readonly of: readonly ListedInstance[];
  readonly onClose: () => void;
  readonly onStart: (action: BulkAction) => void;
}) {
  const [typed, setTyped] = useState('');
  const many = counted(of.length, 'instance');
  const common = { onClose, isBusy: false, refusal: undefined };
  const confirmation = `${asking} ${of.length}`;
  switch (asking) {
    case 'tag':
      return (
        <FormDialog
          {...{ ...common, title: `Tag ${many}`, submit: 'Tag' }}
          onSubmit={({ key = '', value = '' }) => onStart({ kind: 'tag', key, value })}
        >
          <TextField {...{ name: 'key', label: 'Key', maxLength: 64 }} hasFocus />
          <TextField {...{ name: 'value', label: 'Value', maxLength: 256 }} isOptional />
        </FormDialog>
      );
    case 'untag':
      return (
        <FormDialog
          {...{ ...common, title: `Remove a tag of ${many}`, submit: 'Remove the tag' }}
          onSubmit={({ key = '' }) => onStart({ kind: 'untag', key })}
        >
          <SelectField {...{ name: 'key', label: 'Key', choices: keysOf(of) }} />
        </FormDialog>
      );
    case 'reset':
      return (
        <FormDialog
          {...{ ...common, title: `Reset ${many}`, submit: 'Reset' }}
          isDangerous
          isDisabled={typed !== confirmation}
          onSubmit={({ mode = 'default' }) => onStart({ kind: 'reset', mode })}
        >
          <p>A reset starts a new generation at cycle 0. A reset cannot be undone.</p>
          <ResetField />
          <TypedName label="Type this text to confirm" name={confirmation} onTyped={setTyped} />
        </FormDialog>
      );
    case 'delete':
      return (
        <FormDialog
          {...{ ...common, title: `Delete ${many}`, submit: 'Delete permanently' }}
          isDangerous
          isDisabled={typed !== confirmation}
          onSubmit={() => onStart({ kind: 'delete' })}
        >
          <p>Deletes states, histories and drift events. A deletion cannot be undone.</p>
          <TypedName label="Type this text to confirm" name={confirmation} onTyped={setTyped} />
        </FormDialog>
      );
  }
}

function keysOf(of: readonly ListedInstance[]): (readonly [string, string])[] {
  const keys = new Set(of.flatMap(({ tags = {} }) => Object.keys(tags)));
  return [...keys].toSorted().map((key) => [key, key] as const);
}

/** Runs an action, and shows its progress and the failures per instance. */
function ProgressDialog({ action, of, onClose }: Running & { readonly onClose: () => void }) {
  const [progress, setProgress] = useState<BulkProgress | undefined>();
  const [run] = useState(() => new BulkRun(action, of, setProgress));
  useEffect(() => {
    void run.run();
    return () => run.stop();
  }, []);
  const { done = 0, failed = [], total = of.length, waitS, isOver = false } = progress ?? {};
  const isStopped = isOver && done + failed.length < total;
  const close = (): void => {
    if (done > 0) {
      const text = `${WORDS[action.kind]}: ${counted(done, 'instance')}.`;
      const isTagging = action.kind === 'tag' || action.kind === 'untag';
      showMessage(text, isTagging ? { undo: () => void undone(run) } : {});
    }
    onClose();
  };
  return (
    <Dialog title={isOver ? 'Done' : 'Working …'} onClose={close} isFirm={!isOver}>
      <div role="status">
        <p>
          {WORDS[action.kind]}: {numberText(done)} of {counted(total, 'instance')}.
          {failed.length === 0 ? '' : ` Failed: ${numberText(failed.length)}.`}
          {waitS === undefined
            ? ''
            : ` The limit of requests is reached. Continues in ${waitText(waitS)}.`}
        </p>
      </div>
      <progress max={total} value={done + failed.length} aria-label="Progress" />
      {failed.length === 0 ? null : (
        <ul class="bulk-failures">
          {failed.map(({ of: { id, name }, refusal }) => (
            <li key={id}>
              <Link to={instanceAddress(id)}>{name}</Link>: {sentence(refusal.message)}
            </li>
          ))}
        </ul>
      )}
      <div class="dialog-buttons">
        {isOver && failed.length > 0 ? (
          <button type="button" onClick={() => void run.runFailed()}>
            Try the failed again
          </button>
        ) : null}
        {isOver ? null : (
          <button type="button" onClick={() => run.stop()}>
            Stop
          </button>
        )}
        <button type="button" class="is-main" onClick={close} disabled={!isOver}>
          {isStopped ? 'Close, the rest is unchanged' : 'Close'}
        </button>
      </div>
    </Dialog>
  );
}

/** Takes tags back, and reports the outcome on any page. */
async function undone(run: BulkRun): Promise<void> {
  const failures = await run.undo();
  const text = failures === 0 ? '' : ` Failed: ${counted(failures, 'instance')}.`;
  showMessage(`The tags are restored.${text}`);
}

const WORDS = {
  tag: 'Tagged',
  untag: 'Removed the tag',
  reset: 'Reset',
  delete: 'Deleted',
} as const;
