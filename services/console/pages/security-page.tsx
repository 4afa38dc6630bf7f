import { useState } from 'preact/hooks';
import { api } from '#pages/api';
import { useAction } from '#pages/loaded';
import { submitted, TextField, type Values } from '#view/field';
import { RefusalNotice } from '#view/notice';
import { Page } from '#view/page';
import { SecondFactorPart } from '#view/second-factor-part';
import { SessionList } from '#view/session-list';

/** Password, second factor and sessions of who is signed in. */
export function SecurityPage() {
  return (
    <Page title="Security" lead="How you sign in, and where you are signed in now.">
      <PasswordPart />
      <SecondFactorPart />
      <SessionList />
    </Page>
  );
}

const FIELDS = ['password', 'new_password'];

function PasswordPart() {
  const [changes, setChanges] = useState(0);
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const { password = '', new_password: next = '' } = values;
    await api.changePassword({ password, new_password: next });
    setChanges(changes + 1);
  });
  return (
    <section class="card" aria-labelledby="password">
      <h2 id="password">Password</h2>
      <p class="quiet">A change ends every other session of yours.</p>
      {/* After a change the form is another one: its fields are empty. */}
      <form key={changes} class="narrow" onSubmit={submitted(run)} aria-busy={isBusy}>
        <TextField
          {...{ name: 'password', label: 'Present password', type: 'password', refusal }}
          autocomplete="current-password"
        />
        <TextField
          {...{ name: 'new_password', label: 'New password', type: 'password', refusal }}
          autocomplete="new-password"
          hint="12 characters or more. A few words are better than signs."
        />
        <RefusalNotice refusal={refusal} fields={FIELDS} />
        <div class="button-row">
          <button type="submit" disabled={isBusy}>
            {isBusy ? 'One moment …' : 'Change the password'}
          </button>
          <p role="status" class="good-text">
            {changes > 0 && !isBusy && refusal === undefined ? 'The password is changed.' : ''}
          </p>
        </div>
      </form>
    </section>
  );
}
