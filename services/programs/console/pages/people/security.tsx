import { useState } from 'preact/hooks';
import type { SessionView } from '#console/answers';
import { browserName } from '#pages/parts/format';
import { api } from '#pages/shell/api';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { submitted, TextField, type Values } from '#view/parts/field';
import { RefusalNotice, WhenLoaded } from '#view/parts/notice';
import { TableHead } from '#view/parts/table-head';
import { TimeText } from '#view/parts/text';
import { Page } from '#view/shell/router';
import { SecondFactorPart } from '#view/sign-in/second-factor';

/** Password, second factor and sessions of the user. */
export function SecurityPage() {
  return (
    <Page title="Security" lead="Your password, second factor and sessions.">
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
      <p class="quiet">A new password ends all your other sessions.</p>
      {/* After a password change, a new key makes Preact create the form again with empty fields. */}
      <form key={changes} class="narrow" onSubmit={submitted(run)} aria-busy={isBusy}>
        <TextField
          {...{ name: 'password', label: 'Current password', type: 'password', refusal }}
          autocomplete="current-password"
        />
        <TextField
          {...{ name: 'new_password', label: 'New password', type: 'password', refusal }}
          autocomplete="new-password"
          hint="At least 12 characters. Several words are better than symbols."
        />
        <RefusalNotice refusal={refusal} fields={FIELDS} />
        <div class="button-row">
          <button type="submit" aria-disabled={isBusy}>
            {isBusy ? 'One moment …' : 'Change the password'}
          </button>
          <p role="status" class="good-text">
            {changes > 0 && !isBusy && refusal === undefined ? 'The password was changed.' : ''}
          </p>
        </div>
      </form>
    </section>
  );
}

/** Table of the user's sessions, with buttons that end a session. */
function SessionList() {
  const sessions = useLoaded(api.sessions);
  const one = useAction(async (id: string) => {
    await api.endSession(id);
    await sessions.reload();
  });
  const others = useAction(async () => {
    await api.endOtherSessions();
    await sessions.reload();
  });
  return (
    <section class="card" aria-labelledby="sessions">
      <div class="card-head">
        <h2 id="sessions">Sessions</h2>
        <button
          type="button"
          class="is-small"
          aria-disabled={others.isBusy}
          onClick={() => others.run()}
        >
          End all others
        </button>
      </div>
      <p class="quiet">A session ends after 30 minutes without use, and after 12 hours.</p>
      <RefusalNotice refusal={one.refusal ?? others.refusal} />
      <WhenLoaded loading={sessions} what="sessions">
        {(all) => (
          <table class="rows is-plain">
            <caption class="unseen">Sessions</caption>
            <TableHead names={['Browser', 'Signed in', 'Last seen']} unseen="Actions" />
            <tbody>
              {all.map((each) => (
                <Row key={each.id} of={each} isBusy={one.isBusy} onEnd={one.run} />
              ))}
            </tbody>
          </table>
        )}
      </WhenLoaded>
    </section>
  );
}

function Row({
  of: { id, client, address, is_current: isCurrent, ...times },
  isBusy,
  onEnd,
}: {
  readonly of: SessionView;
  readonly isBusy: boolean;
  readonly onEnd: (id: string) => void;
}) {
  const name = browserName(client);
  return (
    <tr>
      <th scope="row">
        <span class="row-name" title={client}>
          {name}
        </span>
        <span class="row-more">{address}</span>
      </th>
      <td data-label="Signed in">
        <TimeText at={times.created_at} />
        <span class="row-more">
          {times.authenticated_by === 'password' ? 'Password' : 'Password and code'}
        </span>
      </td>
      <td data-label="Last seen">
        <TimeText at={times.last_seen_at} />
      </td>
      <td class="row-actions">
        {isCurrent ? (
          <span class="badge is-good">this session</span>
        ) : (
          <button
            type="button"
            class="is-small is-danger-quiet"
            aria-label={`End the session of ${name}, ${address}`}
            aria-disabled={isBusy}
            onClick={() => onEnd(id)}
          >
            End
          </button>
        )}
      </td>
    </tr>
  );
}
