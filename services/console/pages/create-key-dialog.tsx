import { useState } from 'preact/hooks';
import type { KeyWanted, NewKey } from '#pages/answers';
import { api } from '#pages/api';
import { scopeChoices } from '#pages/key-scopes';
import { useAction } from '#pages/loaded';
import { FormDialog } from '#view/dialog';
import { SelectField, TextField, type Values } from '#view/field';

const FIELDS = ['name', 'scope', 'expires_at', 'networks'];

const DAY_MS = 24 * 60 * 60_000;

const EXPIRIES = [
  ['90', 'In 90 days'],
  ['30', 'In 30 days'],
  ['7', 'In 7 days'],
  ['365', 'In a year'],
  ['date', 'On a day that I choose'],
  ['never', 'Never'],
] as const;

/** Asks what a new key may, and makes it. */
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
          hint="What uses it: “billing worker, production”."
          hasFocus
        />
        <SelectField
          {...{ name: 'scope', label: 'Scope', refusal, choices: scopeChoices() }}
          hint="Full reads and changes instances. You can give what your own role may do."
        />
        <SelectField {...{ name: 'expiry', label: 'Expires', choices: EXPIRIES, value: expiry }} />
        {expiry === 'date' ? (
          <TextField
            {...{ name: 'expires_at', label: 'Last day', refusal }}
            type="date"
            hint="It works to the end of this day, in your time zone."
          />
        ) : null}
        <TextField
          {...{ name: 'networks', label: 'Allowed networks', refusal, lines: 3 }}
          hint="One address or network a line, such as 192.0.2.0/24. Empty: it works from anywhere."
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
