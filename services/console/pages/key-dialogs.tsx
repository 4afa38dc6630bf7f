import { useState } from 'preact/hooks';
import type { KeyView, NewKey } from '#pages/answers';
import { api } from '#pages/api';
import { scopeChoices } from '#pages/key-scopes';
import { useAction } from '#pages/loaded';
import { FormDialog } from '#view/dialog';
import { SelectField, TextField } from '#view/field';
import { TypedName } from '#view/typed-name';

/** What can be done with a key. */
export type KeyDeed = 'rename' | 'scope' | 'rotate' | 'disable' | 'enable' | 'revoke';

type DeedProps = {
  readonly of: KeyView;
  readonly onClose: () => void;
  /** Called with the key that a rotation has made. */
  readonly onDone: (made: NewKey | undefined) => void;
};

const GRACES = [
  ['0', 'At once'],
  ['3600', 'In 1 hour'],
  ['86400', 'In 24 hours'],
  ['604800', 'In 7 days'],
] as const;

/** The dialog of one deed. */
export function KeyDialog({ deed, ...props }: DeedProps & { readonly deed: KeyDeed }) {
  switch (deed) {
    case 'rename':
      return <RenameDialog {...props} />;
    case 'scope':
      return <ScopeDialog {...props} />;
    case 'rotate':
      return <RotateDialog {...props} />;
    case 'disable':
    case 'enable':
      return <StateDialog {...props} deed={deed} />;
    case 'revoke':
      return <RevokeDialog {...props} />;
  }
}

const nameOf = ({ name, masked, id }: KeyView): string => name ?? masked ?? id;

function RenameDialog({ of, onClose, onDone }: DeedProps) {
  const { run, isBusy, refusal } = useAction(async (name: string) => {
    await api.renameKey(of.id, name.trim());
    onDone(undefined);
  });
  return (
    <FormDialog
      {...{ title: 'Rename the key', submit: 'Rename', onClose, isBusy, refusal }}
      fields={['name']}
      onSubmit={({ name = '' }) => run(name)}
    >
      <TextField
        {...{ name: 'name', label: 'Name', refusal, maxLength: 64 }}
        value={of.name ?? ''}
        hasFocus
      />
    </FormDialog>
  );
}

function ScopeDialog({ of, onClose, onDone }: DeedProps) {
  const { run, isBusy, refusal } = useAction(async (scope: string) => {
    await api.setKeyScope(of.id, scope);
    onDone(undefined);
  });
  return (
    <FormDialog
      {...{ title: 'Change the scope of the key', submit: 'Change', onClose, isBusy, refusal }}
      fields={['scope']}
      onSubmit={({ scope = of.scope }) => run(scope)}
    >
      <p>
        Calls with <strong>{nameOf(of)}</strong> may do what its scope says, from within a second
        on.
      </p>
      <SelectField
        {...{ name: 'scope', label: 'Scope', refusal, choices: scopeChoices(), value: of.scope }}
      />
    </FormDialog>
  );
}

function RotateDialog({ of, onClose, onDone }: DeedProps) {
  const { run, isBusy, refusal } = useAction(async (grace: string) => {
    onDone(await api.rotateKey(of.id, Number(grace)));
  });
  return (
    <FormDialog
      {...{ title: 'Rotate the key', submit: 'Rotate', onClose, isBusy, refusal }}
      onSubmit={({ grace = '0' }) => run(grace)}
    >
      <p>
        A new key takes the place of <strong>{nameOf(of)}</strong>, with the same scope and
        networks.
      </p>
      <SelectField
        {...{ name: 'grace', label: 'The old key stops working', choices: GRACES, value: '86400' }}
        hint="Until then both work, so that your programs can change over."
      />
    </FormDialog>
  );
}

function StateDialog({
  of,
  deed,
  onClose,
  onDone,
}: DeedProps & { readonly deed: 'disable' | 'enable' }) {
  const { run, isBusy, refusal } = useAction(async () => {
    await (deed === 'disable' ? api.disableKey(of.id) : api.enableKey(of.id));
    onDone(undefined);
  });
  const isDisable = deed === 'disable';
  return (
    <FormDialog
      {...{ onClose, isBusy, refusal }}
      title={isDisable ? 'Disable the key' : 'Enable the key'}
      submit={isDisable ? 'Disable' : 'Enable'}
      onSubmit={() => run()}
    >
      <p>
        {isDisable ? 'Calls with ' : 'Calls with '}
        <strong>{nameOf(of)}</strong>
        {isDisable
          ? ' are refused within a second, until you enable it again.'
          : ' are let in again within a second.'}
      </p>
    </FormDialog>
  );
}

function RevokeDialog({ of, onClose, onDone }: DeedProps) {
  const [typed, setTyped] = useState('');
  const { run, isBusy, refusal } = useAction(async () => {
    await api.revokeKey(of.id);
    onDone(undefined);
  });
  const name = nameOf(of);
  return (
    <FormDialog
      {...{ title: 'Revoke the key', submit: 'Revoke for ever', onClose, isBusy, refusal }}
      isDangerous
      isDisabled={typed !== name}
      onSubmit={() => run()}
    >
      <p>
        Calls with this key are refused within a second, and it never works again. To stop it for a
        while, disable it instead.
      </p>
      <TypedName label="Type the name of the key" name={name} onTyped={setTyped} />
    </FormDialog>
  );
}
