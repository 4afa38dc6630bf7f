import { useState } from 'preact/hooks';
import type { Webhook, WebhookWithSecret } from '#clients/typescript/src/models';
import { numberText } from '#pages/parts/format';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { webhookApi } from '#pages/webhooks/api';
import { stateOf, webhookAddress } from '#pages/webhooks/endpoint-state';
import { typesText } from '#pages/webhooks/event-types';
import { submitted, type Values } from '#view/parts/field';
import { Empty, RefusalNotice, WhenLoaded } from '#view/parts/notice';
import { TimeText } from '#view/parts/text';
import { Link, navigate, Page } from '#view/shell/router';
import { SecretShown, VerifySample } from '#view/webhooks/secret';
import { SettingsFields, settingsIn, shownFields } from '#view/webhooks/settings';

/** Sections of the pages about webhooks: endpoints, and the log of events. */
export function HookTabs({ present }: { readonly present: 'endpoints' | 'events' }) {
  return (
    <nav class="tabs" aria-label="Webhooks and events">
      <ul>
        <li>
          <Link to="/webhooks" isCurrent={present === 'endpoints'}>
            Endpoints
          </Link>
        </li>
        <li>
          <Link to="/webhooks/events" isCurrent={present === 'events'}>
            Event log
          </Link>
        </li>
      </ul>
    </nav>
  );
}

/** All webhook endpoints of the account. */
export function WebhooksPage() {
  const endpoints = useLoaded(webhookApi.list);
  return (
    <Page
      title="Webhooks"
      lead="The service sends the events of your instances to your own servers, signed and at least once."
      actions={
        may('instances.write') ? (
          <Link to="/webhooks/new" class="button is-main">
            Add an endpoint
          </Link>
        ) : undefined
      }
    >
      <HookTabs present="endpoints" />
      <WhenLoaded loading={endpoints} what="endpoints">
        {(all) => (all.length === 0 ? <NoEndpoints /> : <EndpointTable endpoints={all} />)}
      </WhenLoaded>
    </Page>
  );
}

function NoEndpoints() {
  return (
    <Empty title="There are no endpoints yet">
      {may('instances.write') ? (
        <p>
          <Link to="/webhooks/new">Add an endpoint</Link> to get events as they happen. To look at
          the events here, open the <Link to="/webhooks/events">event log</Link>.
        </p>
      ) : (
        <p>
          Owners and developers of the account can add endpoints. The{' '}
          <Link to="/webhooks/events">event log</Link> shows all events.
        </p>
      )}
    </Empty>
  );
}

function EndpointTable({ endpoints }: { readonly endpoints: readonly Webhook[] }) {
  return (
    <table class="rows endpoints">
      <caption class="unseen">Webhook endpoints, oldest first</caption>
      <thead>
        <tr>
          <th scope="col">Endpoint</th>
          <th scope="col">Events</th>
          <th scope="col">State</th>
          <th scope="col" class="is-number">
            Behind
          </th>
          <th scope="col" class="is-number">
            Failed
          </th>
        </tr>
      </thead>
      <tbody>
        {endpoints.map((endpoint) => (
          <EndpointRow key={endpoint.id} of={endpoint} />
        ))}
      </tbody>
    </table>
  );
}

function EndpointRow({ of }: { readonly of: Webhook }) {
  const { id, url, description, event_types: types, failing_since: failing } = of;
  const { style, badge } = stateOf(of);
  return (
    <tr>
      <th scope="row">
        <Link to={webhookAddress(id)} class="row-name">
          {url}
        </Link>
        {description === '' ? null : <span class="row-more">{description}</span>}
      </th>
      <td data-label="Events">{typesText(types)}</td>
      <td data-label="State">
        <span class={`badge ${style}`}>{badge}</span>
        {failing === null ? null : (
          <span class="row-more">
            failing since <TimeText at={failing} />
          </span>
        )}
        {of.paused === null || of.paused === 'requested' ? null : (
          <span class="row-more">paused by the service</span>
        )}
      </td>
      <td data-label="Behind" class="is-number">
        {numberText(of.changes_behind)}
      </td>
      <td data-label="Failed" class="is-number">
        {numberText(of.changes_failed)}
      </td>
    </tr>
  );
}

/** Form for a new endpoint. Its secret is shown once. */
export function NewWebhookPage() {
  const [made, setMade] = useState<WebhookWithSecret | undefined>();
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    setMade(await webhookApi.create(settingsIn(values)));
  });
  const leave = (): void => {
    if (made !== undefined) navigate(webhookAddress(made.id), 'replace');
  };
  return (
    <Page
      title="Add an endpoint"
      lead="The endpoint gets the events from now on. You can change all settings later."
    >
      <form class="hook-form" onSubmit={submitted(run)}>
        <SettingsFields refusal={refusal} />
        <RefusalNotice refusal={refusal} fields={shownFields(refusal)} />
        <p class="button-row">
          <button type="submit" class="is-main" aria-disabled={isBusy}>
            {isBusy ? 'One moment …' : 'Add the endpoint'}
          </button>
          <Link to="/webhooks" class="button">
            Cancel
          </Link>
        </p>
      </form>
      <section class="card" aria-labelledby="verify">
        <h2 id="verify">How a receiver verifies messages</h2>
        <VerifySample />
      </section>
      {made === undefined ? null : (
        <SecretShown secret={made.secret} isRotated={false} onClose={leave} />
      )}
    </Page>
  );
}
