import { useState } from 'preact/hooks';
import type { KeyView, NewKey } from '#console/answers';
import { browserName, inWords } from '#pages/parts/format';
import { api } from '#pages/shell/api';
import { useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { useWanted } from '#pages/shell/wanted';
import { CreateKeyDialog, type KeyAction, KeyDialog, mayGive, scopeText } from '#view/keys/dialogs';
import { KeyIds } from '#view/keys/key-ids';
import { ShownOnce } from '#view/parts/dialog';
import { Empty, WhenLoaded } from '#view/parts/notice';
import { TableHead } from '#view/parts/table-head';
import { TimeText } from '#view/parts/text';
import { Page } from '#view/shell/router';

/** The dialog that is open, and its data. */
type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'action'; readonly action: KeyAction; readonly of: KeyView }
  | { readonly kind: 'shown'; readonly made: NewKey };

/** API keys page: create, rename, rotate, disable, enable and revoke keys. */
export function KeysPage() {
  const keys = useLoaded(api.keys);
  const [open, setOpen] = useState<Open | undefined>();
  const close = () => setOpen(undefined);
  useWanted('create-key', () => setOpen({ kind: 'create' }));
  const create = may('keys.write') ? (
    <button type="button" class="is-main" onClick={() => setOpen({ kind: 'create' })}>
      Create a key
    </button>
  ) : undefined;
  const afterwards = (made: NewKey | undefined) => {
    setOpen(made === undefined ? undefined : { kind: 'shown', made });
    void keys.reload();
  };
  return (
    <Page
      title="API keys"
      lead="Programs call the API with a key. Create one key per program, so that you can revoke each key separately."
      actions={create}
    >
      <WhenLoaded loading={keys} what="keys">
        {(all) =>
          all.length === 0 ? (
            <Empty title="There are no keys yet">
              <p>A key is shown only once, when it is created.</p>
            </Empty>
          ) : (
            <KeyTable
              keys={all}
              onAction={(action, of) => setOpen({ kind: 'action', action, of })}
            />
          )
        }
      </WhenLoaded>
      <Overlay open={open} onClose={close} onDone={afterwards} />
    </Page>
  );
}

function Overlay({
  open,
  onClose,
  onDone,
}: {
  readonly open: Open | undefined;
  readonly onClose: () => void;
  readonly onDone: (made: NewKey | undefined) => void;
}) {
  switch (open?.kind) {
    case undefined:
      return null;
    case 'create':
      return <CreateKeyDialog onClose={onClose} onDone={onDone} />;
    case 'action':
      return <KeyDialog action={open.action} of={open.of} onClose={onClose} onDone={onDone} />;
    case 'shown':
      return (
        <ShownOnce
          title="Store this key now"
          label="API key"
          value={open.made.key}
          done="I have stored it"
          onClose={onClose}
        >
          <p>
            The key <strong>{open.made.name ?? open.made.id}</strong> is shown only now. Store the
            key in a secret store, not in code.
          </p>
        </ShownOnce>
      );
  }
}

type KeyTableProps = {
  readonly keys: readonly KeyView[];
  readonly onAction: (action: KeyAction, of: KeyView) => void;
};

/** Display texts of hints. */
const HINTS: Readonly<Record<string, string>> = {
  never_used: 'Never used',
  idle_90_days: 'Idle for 90 days',
  no_expiry: 'No expiry',
  maker_gone: 'Its creator left or has fewer rights',
};

const STATUS_CLASS: Readonly<Record<string, string>> = {
  active: 'is-good',
  disabled: 'is-warning',
  expired: 'is-off',
  revoked: 'is-off',
};

/** Table of keys: usable keys before expired and revoked keys, newest first in each group. */
function KeyTable({ keys, onAction }: KeyTableProps) {
  const isOver = ({ status }: KeyView) => status === 'revoked' || status === 'expired';
  const newestFirst = keys.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1));
  const sorted = [...newestFirst.filter((key) => !isOver(key)), ...newestFirst.filter(isOver)];
  return (
    <table class="rows">
      <caption class="unseen">API keys of this account</caption>
      <TableHead
        names={['Name and key', 'Scope', 'Last used', 'Expires', 'Status']}
        unseen={may('keys.write') ? 'Actions' : undefined}
      />
      <tbody>
        {sorted.map((key) => (
          <Row key={key.id} of={key} onAction={onAction} isOver={isOver(key)} />
        ))}
      </tbody>
    </table>
  );
}

function Row({
  of,
  onAction,
  isOver,
}: {
  readonly of: KeyView;
  readonly onAction: KeyTableProps['onAction'];
  readonly isOver: boolean;
}) {
  return (
    <tr class={isOver ? 'is-over' : ''}>
      <th scope="row">
        <span class="row-name">{of.name ?? 'Unnamed key'}</span>
        <KeyIds id={of.id} masked={of.masked} />
        {of.created_by === undefined ? null : (
          <span class="row-more">by {of.created_by.name ?? of.created_by.id}</span>
        )}
      </th>
      <td data-label="Scope">{scopeText(of.scope)}</td>
      <td data-label="Last used">
        <LastUsed of={of} />
      </td>
      <td data-label="Expires">
        {of.expires_at === undefined ? (
          <span class="quiet">Never</span>
        ) : (
          <TimeText at={of.expires_at} />
        )}
      </td>
      <td data-label="Status">
        <span class="badges">
          <span class={`badge ${STATUS_CLASS[of.status] ?? ''}`}>{inWords(of.status)}</span>
          {isOver ? null : <Hints of={of} />}
        </span>
      </td>
      {may('keys.write') ? (
        <td class="row-actions">{isOver ? null : <KeyActions of={of} onAction={onAction} />}</td>
      ) : null}
    </tr>
  );
}

function LastUsed({ of: { last_used: used } }: { readonly of: KeyView }) {
  if (used === undefined) return <span class="quiet">Not yet</span>;
  const { at, address, client } = used;
  const from = [address, client === undefined ? undefined : browserName(client)];
  return (
    <>
      <TimeText at={at} />
      <span class="row-more" title={client}>
        {from.filter((each) => each !== undefined).join(' · ')}
      </span>
    </>
  );
}

function Hints({ of: { hints = [], networks = [] } }: { readonly of: KeyView }) {
  return (
    <>
      {hints.map((hint) => (
        <span key={hint} class="badge is-quiet">
          {HINTS[hint] ?? inWords(hint)}
        </span>
      ))}
      {networks.length === 0 ? null : (
        <span class="badge is-quiet" title={networks.join(', ')}>
          {networks.length === 1 ? networks[0] : `${networks.length} networks`}
        </span>
      )}
    </>
  );
}

/** Actions that pass the rights of a key on. The person who acts needs all these rights. */
const GIVING: readonly KeyAction[] = ['scope', 'rotate', 'enable'];

const ACTION_TEXTS = [
  ['rename', 'Rename'],
  ['scope', 'Scope'],
  ['rotate', 'Rotate'],
  ['disable', 'Disable'],
  ['enable', 'Enable'],
  ['revoke', 'Revoke'],
] as const;

function KeyActions({
  of,
  onAction,
}: {
  readonly of: KeyView;
  readonly onAction: KeyTableProps['onAction'];
}) {
  const isShown = (action: KeyAction) => {
    // The service refuses these actions for a key with rights that the person lacks.
    if (GIVING.includes(action) && !mayGive(of.scope)) return false;
    return action === 'enable'
      ? of.status === 'disabled'
      : action !== 'disable' || of.status === 'active';
  };
  return (
    <>
      {ACTION_TEXTS.filter(([action]) => isShown(action)).map(([action, text]) => (
        <button
          key={action}
          type="button"
          class={`is-small ${action === 'revoke' ? 'is-danger-quiet' : ''}`}
          aria-label={`${text} ${of.name ?? of.id}`}
          onClick={() => onAction(action, of)}
        >
          {text}
        </button>
      ))}
    </>
  );
}
