import type { SessionView } from '#pages/answers';
import { api } from '#pages/api';
import { browserName } from '#pages/format';
import { useAction, useLoaded } from '#pages/loaded';
import { RefusalNotice, WhenLoaded } from '#view/notice';
import { TimeText } from '#view/time-text';

/** Where someone is signed in; each session can be ended. */
export function SessionList() {
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
          disabled={others.isBusy}
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
            <thead>
              <tr>
                <th scope="col">Browser</th>
                <th scope="col">Signed in</th>
                <th scope="col">Last seen</th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
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
          <span class="badge is-good">this one</span>
        ) : (
          <button
            type="button"
            class="is-small is-danger-quiet"
            aria-label={`End the session of ${name}, ${address}`}
            disabled={isBusy}
            onClick={() => onEnd(id)}
          >
            End
          </button>
        )}
      </td>
    </tr>
  );
}
