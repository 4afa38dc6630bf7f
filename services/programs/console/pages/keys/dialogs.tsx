import { useState } from 'preact/hooks';
import type { KeyView, KeyWanted, NewKey } from '#console/answers';
import { inWords } from '#pages/parts/format';
import { api } from '#pages/shell/api';
import { useAction } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { FormDialog, TypedName } from '#view/parts/dialog';
import { SelectField, TextField, type Values } from '#view/parts/field';

/** Action on an API key. */
export type KeyAction = 'rename' | 'scope' | 'rotate' | 'disable' | 'enable' | 'revoke';

type DialogProps = {
  readonly of: KeyView;
  readonly onClose: () => void;
  /** Called after the action, with the new key if a rotation created one. */
  readonly onDone: (made: NewKey | undefined) => void;
};

const GRACES = [
  ['0', 'Immediately'],
  ['3600', 'In 1 hour'],
  ['86400', 'In 24 hours'],
  ['604800', 'In 7 days'],
] as const;

/** Dialog for one action on an API key. */
export function KeyDialog({ action, ...props }: DialogProps & { readonly action: KeyAction }) {
  switch (action) {
    case 'rename':
      return <RenameDialog {...props} />;
    case 'scope':
      return <ScopeDialog {...props} />;
    case 'rotate':
      return <RotateDialog {...props} />;
    case 'disable':
    case 'enable':
      return <StateDialog {...props} action={action} />;
    case 'revoke':
      return <RevokeDialog {...props} />;
  }
}

const nameOf = ({ name, masked, id }: KeyView): string => name ?? masked ?? id;

function RenameDialog({ of, onClose, onDone }: DialogProps) {
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

function ScopeDialog({ of, onClose, onDone }: DialogProps) {
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
        Calls with <strong>{nameOf(of)}</strong> get the rights of the new scope within a second.
      </p>
      <SelectField
        {...{ name: 'scope', label: 'Scope', refusal, choices: scopeChoices(), value: of.scope }}
      />
    </FormDialog>
  );
}

function RotateDialog({ of, onClose, onDone }: DialogProps) {
  const { run, isBusy, refusal } = useAction(async (grace: string) => {
    onDone(await api.rotateKey(of.id, Number(grace)));
  });
  return (
    <FormDialog
      {...{ title: 'Rotate the key', submit: 'Rotate', onClose, isBusy, refusal }}
      onSubmit={({ grace = '0' }) => run(grace)}
    >
      <p>
        A new key with the same scope and networks replaces <strong>{nameOf(of)}</strong>.
      </p>
      <SelectField
        {...{ name: 'grace', label: 'The old key stops working', choices: GRACES, value: '86400' }}
        hint="Until then both keys work, so that your programs can switch."
      />
    </FormDialog>
  );
}

function StateDialog({
  of,
  action,
  onClose,
  onDone,
}: DialogProps & { readonly action: 'disable' | 'enable' }) {
  const { run, isBusy, refusal } = useAction(async () => {
    await (action === 'disable' ? api.disableKey(of.id) : api.enableKey(of.id));
    onDone(undefined);
  });
  const isDisable = action === 'disable';
  return (
    <FormDialog
      {...{ onClose, isBusy, refusal }}
      title={isDisable ? 'Disable the key' : 'Enable the key'}
      submit={isDisable ? 'Disable' : 'Enable'}
      onSubmit={() => run()}
    >
      <p>
        Calls with <strong>{nameOf(of)}</strong>
        {isDisable
          ? ' are refused within a second, until you enable the key again.'
          : ' are accepted again within a second.'}
      </p>
    </FormDialog>
  );
}

function RevokeDialog({ of, onClose, onDone }: DialogProps) {
  const [typed, setTyped] = useState('');
  const { run, isBusy, refusal } = useAction(async () => {
    await api.revokeKey(of.id);
    onDone(undefined);
  });
  const name = nameOf(of);
  return (
    <FormDialog
      {...{ title: 'Revoke the key', submit: 'Revoke permanently', onClose, isBusy, refusal }}
      isDangerous
      isDisabled={typed !== name}
      onSubmit={() => run()}
    >
      <p>
        Calls with this key are refused within a second. A revoked key cannot be enabled again. To
        stop a key temporarily, disable it.
      </p>
      <TypedName label="Type the name of the key" name={name} onTyped={setTyped} />
    </FormDialog>
  );
}

const FIELDS = ['name', 'scope', 'expires_at', 'networks'];

const DAY_MS = 24 * 60 * 60_000;

const EXPIRIES = [
  ['90', 'In 90 days'],
  ['30', 'In 30 days'],
  ['7', 'In 7 days'],
  ['365', 'In a year'],
  ['date', 'On a date'],
  ['never', 'Never'],
] as const;

/** Dialog that creates a key. */
export function CreateKeyDialog({
  onClose,
  onDone,
}: {
  readonly onClose: () => void;
  readonly onDone: (made: NewKey) => void;
}) {
  const [expiry, setExpiry] = useState<string>(EXPIRIES[0][0]);
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    onDone(await api.createKey(wantedOf(values)));
  });
  const watch = (event: Event) => {
    if (event.target instanceof HTMLSelectElement && event.target.name === 'expiry') {
      setExpiry(event.target.value);
    }
  };
  return (
    <FormDialog
      title="Create a key"
      submit="Create"
      onClose={onClose}
      isBusy={isBusy}
      refusal={refusal}
      fields={expiry === 'date' ? FIELDS : FIELDS.filter((each) => each !== 'expires_at')}
      onSubmit={run}
    >
      <div onChange={watch}>
        <TextField
          {...{ name: 'name', label: 'Name', refusal, maxLength: 64 }}
          hint="The program that uses the key, such as “billing worker, production”."
          hasFocus
        />
        <SelectField
          {...{ name: 'scope', label: 'Scope', refusal, choices: scopeChoices() }}
          hint="“Full” allows reading and changing instances. Your role limits the choice."
        />
        <SelectField {...{ name: 'expiry', label: 'Expires', choices: EXPIRIES, value: expiry }} />
        {expiry === 'date' ? (
          <TextField
            {...{ name: 'expires_at', label: 'Last day', refusal }}
            type="date"
            hint="The key expires at the end of this day, in your time zone."
          />
        ) : null}
        <TextField
          {...{ name: 'networks', label: 'Allowed networks', refusal, lines: 3 }}
          hint="One address or network per line, such as 192.0.2.0/24. Empty: any address."
          isOptional
        />
      </div>
    </FormDialog>
  );
}

function wantedOf(values: Values): KeyWanted {
  const {
    name = '',
    scope = 'full',
    expiry = 'never',
    expires_at: day = '',
    networks = '',
  } = values;
  const lines = networks.split(/[\s,]+/).filter((each) => each !== '');
  const expiresAt = expiryTime(expiry, day);
  return {
    name: name.trim(),
    scope,
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt.toISOString() }),
    ...(lines.length === 0 ? {} : { networks: lines }),
  };
}

function expiryTime(expiry: string, day: string): Date | undefined {
  if (expiry === 'never') return undefined;
  if (expiry === 'date') return new Date(`${day}T23:59:59`);
  const at = new Date();
  at.setTime(at.getTime() + Number(expiry) * DAY_MS);
  return at;
}

/** Permission that a person needs to grant each word of a scope. */
const PERMISSION_OF = {
  full: 'instances.write',
  read: 'instances.read',
  audit: 'audit.read',
  billing: 'billing',
} as const;

const TEXT_OF: Readonly<Record<string, string>> = {
  full: 'Full',
  read: 'Read only',
  audit: 'Audit trail',
  billing: 'Billing',
};

const SCOPES = [
  ...['full', 'read', 'audit', 'billing', 'full audit', 'full billing', 'full audit billing'],
  ...['read audit', 'read billing', 'read audit billing', 'audit billing'],
];

/** Display text of a scope, for example "Full, audit trail". */
export function scopeText(scope: string): string {
  const words = scope.split(' ').map((word) => TEXT_OF[word] ?? inWords(word));
  return words.map((word, at) => (at === 0 ? word : word.toLowerCase())).join(', ');
}

/** Whether the signed-in person has all permissions of a scope and may therefore grant it. */
export function mayGive(scope: string): boolean {
  return scope.split(' ').every((word) => {
    const permission = PERMISSION_OF[word as keyof typeof PERMISSION_OF];
    return permission !== undefined && may(permission);
  });
}

/** Scopes that the signed-in person may grant, each with its display text. */
function scopeChoices(): (readonly [value: string, text: string])[] {
  return SCOPES.filter(mayGive).map((scope) => [scope, scopeText(scope)] as const);
}
