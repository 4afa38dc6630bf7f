import type { KeyView } from '#pages/answers';
import { browserName, inWords } from '#pages/format';
import { mayGive, scopeText } from '#pages/key-scopes';
import { may } from '#pages/session';
import type { KeyDeed } from '#view/key-dialogs';
import { TimeText } from '#view/time-text';

type KeyTableProps = {
  readonly keys: readonly KeyView[];
  readonly onDeed: (deed: KeyDeed, of: KeyView) => void;
};

/** What hints say to people. */
const HINTS: Readonly<Record<string, string>> = {
  never_used: 'Never used',
  idle_90_days: 'Idle for 90 days',
  no_expiry: 'No expiry',
  maker_gone: 'Its maker has left or may do less',
};

const STATUS_CLASS: Readonly<Record<string, string>> = {
  active: 'is-good',
  disabled: 'is-warning',
  expired: 'is-off',
  revoked: 'is-off',
};

/** Keys that can still be used come first, the newest of each first. */
export function KeyTable({ keys, onDeed }: KeyTableProps) {
  const isOver = ({ status }: KeyView) => status === 'revoked' || status === 'expired';
  const newestFirst = keys.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1));
  const sorted = [...newestFirst.filter((key) => !isOver(key)), ...newestFirst.filter(isOver)];
  return (
    <table class="rows">
      <caption class="unseen">API keys of this account</caption>
      <thead>
        <tr>
          <th scope="col">Name and key</th>
          <th scope="col">Scope</th>
          <th scope="col">Last used</th>
          <th scope="col">Expires</th>
          <th scope="col">Status</th>
          {may('keys.write') ? (
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          ) : null}
        </tr>
      </thead>
      <tbody>
        {sorted.map((key) => (
          <Row key={key.id} of={key} onDeed={onDeed} isOver={isOver(key)} />
        ))}
      </tbody>
    </table>
  );
}

function Row({
  of,
  onDeed,
  isOver,
}: {
  readonly of: KeyView;
  readonly onDeed: KeyTableProps['onDeed'];
  readonly isOver: boolean;
}) {
  return (
    <tr class={isOver ? 'is-over' : ''}>
      <th scope="row">
        <span class="row-name">{of.name ?? 'Unnamed key'}</span>
        <code>{of.masked ?? of.id}</code>
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
        <td class="row-actions">{isOver ? null : <Deeds of={of} onDeed={onDeed} />}</td>
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

/** Deeds that give the rights of a key to those who hold it. */
const GIVING: readonly KeyDeed[] = ['scope', 'rotate', 'enable'];

const DEED_TEXTS = [
  ['rename', 'Rename'],
  ['scope', 'Scope'],
  ['rotate', 'Rotate'],
  ['disable', 'Disable'],
  ['enable', 'Enable'],
  ['revoke', 'Revoke'],
] as const;

function Deeds({ of, onDeed }: { readonly of: KeyView; readonly onDeed: KeyTableProps['onDeed'] }) {
  const isShown = (deed: KeyDeed) => {
    // The service refuses these for a key with rights that the person does not have.
    if (GIVING.includes(deed) && !mayGive(of.scope)) return false;
    return deed === 'enable'
      ? of.status === 'disabled'
      : deed !== 'disable' || of.status === 'active';
  };
  return (
    <>
      {DEED_TEXTS.filter(([deed]) => isShown(deed)).map(([deed, text]) => (
        <button
          key={deed}
          type="button"
          class={`is-small ${deed === 'revoke' ? 'is-danger-quiet' : ''}`}
          aria-label={`${text} ${of.name ?? of.id}`}
          onClick={() => onDeed(deed, of)}
        >
          {text}
        </button>
      ))}
    </>
  );
}
