import { useState } from 'preact/hooks';
import type { KeyView, NewKey } from '#pages/answers';
import { api } from '#pages/api';
import { useLoaded } from '#pages/loaded';
import { may } from '#pages/session';
import { CreateKeyDialog } from '#view/create-key-dialog';
import { type KeyDeed, KeyDialog } from '#view/key-dialogs';
import { KeyTable } from '#view/key-table';
import { Empty, WhenLoaded } from '#view/notice';
import { Page } from '#view/page';
import { ShownOnce } from '#view/shown-once';

/** What is open over the list. */
type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'deed'; readonly deed: KeyDeed; readonly of: KeyView }
  | { readonly kind: 'shown'; readonly made: NewKey };

/** The API keys of the account: made, shown once, renamed, rotated, disabled and revoked. */
export function KeysPage() {
  const keys = useLoaded(api.keys);
  const [open, setOpen] = useState<Open | undefined>();
  const close = () => setOpen(undefined);
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
      lead="Programs call the API with a key. Give each program its own, so that one can be revoked alone."
      actions={create}
    >
      <WhenLoaded loading={keys} what="keys">
        {(all) =>
          all.length === 0 ? (
            <Empty title="There are no keys yet">
              <p>A key is shown once, when it is created. Nothing can show it again.</p>
            </Empty>
          ) : (
            <KeyTable keys={all} onDeed={(deed, of) => setOpen({ kind: 'deed', deed, of })} />
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
    case 'deed':
      return <KeyDialog deed={open.deed} of={open.of} onClose={onClose} onDone={onDone} />;
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
            This is the only time that <strong>{open.made.name ?? open.made.id}</strong> is shown.
            Keep it where secrets are kept, not in code.
          </p>
        </ShownOnce>
      );
  }
}
