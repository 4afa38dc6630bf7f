import { useState } from 'preact/hooks';
import type {
  FailedChange,
  Webhook,
  WebhookAttempt,
  WebhookDeliveries,
} from '#clients/typescript/src/models';
import { instanceAddress } from '#pages/fleet/view';
import { counted, numberText } from '#pages/parts/format';
import { useAction } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { webhookApi } from '#pages/webhooks/api';
import { failureText, outcomeText } from '#pages/webhooks/endpoint-state';
import type { LoadedEndpoint } from '#pages/webhooks/use-endpoint';
import { RefusalNotice } from '#view/parts/notice';
import { TableHead } from '#view/parts/table-head';
import { TimeText } from '#view/parts/text';
import { Link } from '#view/shell/router';
import { showMessage } from '#view/shell/toasts';

type Props = {
  readonly webhook: Webhook;
  readonly deliveries: WebhookDeliveries;
  readonly loaded: LoadedEndpoint;
};

const COLUMNS = 5;

/** The last attempts, newest first. Each row expands to request and response. */
export function Deliveries({ webhook, deliveries: { attempts }, loaded }: Props) {
  const again = useSendAgain(webhook, loaded);
  return (
    <section class="hook-part" aria-labelledby="deliveries">
      <div class="card-head">
        <h2 id="deliveries" tabIndex={-1}>
          Deliveries
        </h2>
        <p class="quiet">At most 100 attempts. This page loads them every minute.</p>
      </div>
      <RefusalNotice refusal={again.refusal} />
      {attempts.length === 0 ? (
        <p class="empty">
          No attempt yet. The service forgets attempts when it restarts. Send a test event, or
          change an instance.
        </p>
      ) : (
        <table class="rows deliveries">
          <caption class="unseen">Attempts to deliver messages, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Message</th>
              <th scope="col">Outcome</th>
              <th scope="col" class="is-number">
                Duration
              </th>
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {attempts.map((attempt) => (
              <AttemptRow
                key={`${attempt.message_id} ${attempt.attempted_at}`}
                {...{ of: attempt, again, isPaused: webhook.paused !== null }}
              />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function AttemptRow({
  of,
  again,
  isPaused,
}: {
  readonly of: WebhookAttempt;
  readonly again: SendAgain;
  readonly isPaused: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  const { message_id: id, attempted_at: at, duration_ms: durationMs, events, failure } = of;
  const { positions = [] } = of;
  return (
    <>
      <tr class={isOpen ? 'is-open' : ''}>
        <td data-label="Time" class="is-time">
          <TimeText at={at} precision="second" />
        </td>
        <th scope="row">
          <code>{id}</code>
          <span class="row-more">{counted(events, 'event')}</span>
        </th>
        <td data-label="Outcome">
          <span class={`badge ${failure === null ? 'is-good' : 'is-warning'}`}>
            {outcomeText(of)}
          </span>
        </td>
        <td data-label="Duration" class="is-number">
          {numberText(durationMs)} ms
        </td>
        <td class="row-actions">
          <button
            type="button"
            class="is-small"
            aria-expanded={isOpen}
            aria-label={`Details of ${id}`}
            onClick={() => setOpen(!isOpen)}
          >
            Details
          </button>
          {positions.length === 0 || isPaused || !may('instances.write') ? null : (
            <button
              type="button"
              class="is-small"
              aria-label={`Send again: ${id}`}
              onClick={() => again.run(positions)}
            >
              Send again
            </button>
          )}
        </td>
      </tr>
      {isOpen ? (
        <tr class="details-row">
          <td colSpan={COLUMNS}>
            {failure === null || of.response !== undefined ? null : <p>{failureText(failure)}</p>}
            <AttemptBodies of={of} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

/** Request and response of an attempt, as text. The receiver may have sent any text. */
export function AttemptBodies({ of: { request, response } }: { readonly of: WebhookAttempt }) {
  return (
    <div class="exchange">
      <div class="request">
        <h3>Request</h3>
        {request === undefined ? (
          <p class="quiet">The body is no longer kept: only the newest attempts have bodies.</p>
        ) : (
          <BodyText text={request.body} isCut={request.is_truncated} />
        )}
      </div>
      <div class="response">
        <h3>Response</h3>
        {response === undefined ? (
          <p class="quiet">The receiver did not answer.</p>
        ) : (
          <>
            <p>
              Status {response.status}
              {response.content_type ? (
                <>
                  {' '}
                  · <code>{response.content_type}</code>
                </>
              ) : null}
            </p>
            <ResponseBody of={response} />
          </>
        )}
      </div>
    </div>
  );
}

function ResponseBody({ of }: { readonly of: NonNullable<WebhookAttempt['response']> }) {
  const { body, is_truncated: isCut = false } = of;
  if (body === undefined) {
    return (
      <p class="quiet">
        The body is not kept: the attempt is older, or the receiver is in an internal network.
      </p>
    );
  }
  return body === '' ? (
    <p class="quiet">The body is empty.</p>
  ) : (
    <BodyText text={body} {...{ isCut }} />
  );
}

/** A body. JSON is indented. */
function BodyText({ text, isCut }: { readonly text: string; readonly isCut: boolean }) {
  return (
    <>
      <pre>{indented(text)}</pre>
      {isCut ? <p class="quiet">The body is longer. Only its beginning is kept.</p> : null}
    </>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

/** Changes that the service gave up. */
export function FailedChanges({ webhook, deliveries: { failed }, loaded }: Props) {
  // The row of the change disappears, so the focus moves to its outcome.
  const again = useSendAgain(webhook, loaded, () => document.getElementById('deliveries')?.focus());
  if (failed.length === 0) return null;
  const isPaused = webhook.paused !== null;
  const maySend = may('instances.write');
  return (
    <section class="hook-part" aria-labelledby="failed">
      <div class="card-head">
        <h2 id="failed">Failed changes</h2>
        {maySend ? (
          <button
            type="button"
            class="is-small"
            disabled={isPaused}
            aria-disabled={again.isBusy}
            onClick={() => again.run(failed.map(({ position }) => position))}
          >
            Send all {numberText(failed.length)} again
          </button>
        ) : null}
      </div>
      <p class="quiet">
        The service gave these changes up. It lists the last 200.
        {isPaused && maySend ? ' Resume the endpoint to send them again.' : ''}
      </p>
      <RefusalNotice refusal={again.refusal} />
      <table class="rows deliveries">
        <caption class="unseen">Changes that were given up, newest first</caption>
        <TableHead names={['Time', 'Instance', 'Cause']} unseen="Actions" />
        <tbody>
          {failed.map((change) => (
            <FailedRow
              key={change.position}
              {...{ of: change, again, maySend: maySend && !isPaused }}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function FailedRow({
  of,
  again,
  maySend,
}: {
  readonly of: FailedChange;
  readonly again: SendAgain;
  readonly maySend: boolean;
}) {
  const { position, instance_id: instanceId, failed_at: at, failure } = of;
  return (
    <tr>
      <td data-label="Time" class="is-time">
        <TimeText at={at} precision="second" />
      </td>
      <th scope="row">
        <Link to={instanceAddress(instanceId)}>
          <code>{instanceId}</code>
        </Link>
        <span class="row-more">Position {numberText(position)}</span>
      </th>
      <td data-label="Cause">{failureText(failure)}</td>
      <td class="row-actions">
        {maySend ? (
          <button
            type="button"
            class="is-small"
            aria-label={`Send again: change ${position}`}
            onClick={() => again.run([position])}
          >
            Send again
          </button>
        ) : null}
      </td>
    </tr>
  );
}

type SendAgain = ReturnType<typeof useSendAgain>;

/** Sends changes again, and shows the outcome of the sending shortly afterwards. */
function useSendAgain(
  { id }: Webhook,
  { refresh, refreshSoon }: LoadedEndpoint,
  onSent: () => void = () => {},
) {
  return useAction(async (positions: readonly number[]) => {
    await webhookApi.redeliver(id, positions);
    onSent();
    const count = counted(positions.length, 'change');
    showMessage(`${count} will be sent again. The outcome appears under “Deliveries”.`);
    await refresh();
    refreshSoon();
  });
}
