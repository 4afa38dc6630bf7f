import type { Me, Start, Usage } from '#console/answers';
import { counted, inWords, numberText } from '#pages/parts/format';
import { may } from '#pages/shell/session';
import { startApi, withTaken } from '#pages/start/api';
import { HOW_TO_SET, UNKNOWN_API } from '#pages/start/examples';
import { type Refreshed, useRefreshed } from '#pages/start/refreshed';
import { UsageCards } from '#view/billing/usage';
import { RefusalNotice, WhenLoaded } from '#view/parts/notice';
import { CopyButton } from '#view/parts/text';
import { Link, Page } from '#view/shell/router';
import { DemoCard } from '#view/start/demo';
import { FirstSteps } from '#view/start/first-steps';

/**
 * Interval of refreshes while the tab is visible, in milliseconds: a call of the API appears within
 * seconds. The requests do not count for the account.
 */
const REFRESH_MS = 5_000;

/** Overview page: address of the API, first steps, instances, usage and limits. */
export function OverviewPage({ me }: { readonly me: Me }) {
  return (
    <Page title="Overview">
      <ApiAddress me={me} />
      {may('instances.read') ? <StartPart me={me} /> : null}
      {may('usage.read') ? <UsagePart /> : null}
    </Page>
  );
}

function ApiAddress({ me }: { readonly me: Me }) {
  const { api_url: url, api_docs_url: docs } = me;
  return (
    <section class="card api-address" aria-labelledby="api">
      <h2 id="api">API</h2>
      <p class="address">
        <code>{url ?? UNKNOWN_API}</code>
        {url === undefined ? null : <CopyButton value={url} what="the address of the API" />}
      </p>
      {url === undefined ? <p class="quiet">{HOW_TO_SET}</p> : null}
      {docs === undefined ? null : (
        <p>
          <a href={docs} target="_blank" rel="noreferrer">
            API documentation
          </a>
        </p>
      )}
    </section>
  );
}

/** First steps and number of instances. */
function StartPart({ me }: { readonly me: Me }) {
  const start = useRefreshed(startApi.start, startApi.startAgain, REFRESH_MS);
  const { loaded } = start;
  if (loaded.kind === 'failed') {
    return (
      <WhenLoaded loading={start} what="first steps">
        {() => null}
      </WhenLoaded>
    );
  }
  const value = loaded.kind === 'ready' ? withTaken(loaded.value, me.account.id) : undefined;
  return (
    <>
      <FirstSteps start={value} apiUrl={me.api_url ?? UNKNOWN_API} />
      <div class="cards">
        <Instances start={value} />
        <DemoCard />
      </div>
    </>
  );
}

function Instances({ start }: { readonly start: Start | undefined }) {
  return (
    <section class="card is-top" aria-labelledby="instances">
      <h2 id="instances">Instances</h2>
      <p class="figure">
        {start === undefined ? (
          <span class="quiet">…</span>
        ) : (
          <>
            {numberText(start.instances.count)}{' '}
            <span class="quiet">of {counted(start.instances.max, 'instance')}</span>
          </>
        )}
      </p>
      <p>
        <Link to="/fleet">Open the fleet</Link>
      </p>
    </section>
  );
}

function UsagePart() {
  const usage = useRefreshed(startApi.usage, startApi.usageAgain, REFRESH_MS);
  return (
    <WhenLoaded loading={usage} what="usage">
      {(value) => <Limits usage={value} lost={usage.lost} />}
    </WhenLoaded>
  );
}

function Limits({
  usage,
  lost,
}: {
  readonly usage: Usage;
  readonly lost: Refreshed<Usage>['lost'];
}) {
  return (
    <>
      <UsageCards usage={usage} />
      <p>
        <Link to="/usage">Usage by day and key</Link>
      </p>
      <RefusalNotice refusal={lost} />
      <UsageTable usage={usage} />
    </>
  );
}

/** Table of the values in the rings, with reserved and remaining amounts. */
function UsageTable({ usage }: { readonly usage: Usage }) {
  const { requests_in_window: requests, requests_per_minute: requestsMax, plan } = usage;
  const requestsLeft = Math.max(0, requestsMax - requests);
  return (
    <section class="card" aria-labelledby="limits">
      <div class="card-head">
        <h2 id="limits">
          {plan === undefined ? 'Limits of the account' : `Plan: ${inWords(plan)}`}
        </h2>
        <p class="quiet">Refreshed every 5 seconds</p>
      </div>
      <table class="rows is-plain">
        <thead>
          <tr>
            <th scope="col">Limit</th>
            <th scope="col" class="is-number">
              Used
            </th>
            <th scope="col" class="is-number">
              Reserved
            </th>
            <th scope="col" class="is-number">
              Left
            </th>
            <th scope="col" class="is-number">
              Allowed
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Cycles a month</th>
            <td data-label="Used" class="is-number">
              {numberText(usage.cycles_used)}
            </td>
            <td data-label="Reserved" class="is-number">
              {numberText(usage.cycles_reserved)}
            </td>
            <td data-label="Left" class="is-number">
              {numberText(usage.cycles_remaining)}
            </td>
            <td data-label="Allowed" class="is-number">
              {numberText(usage.cycles_per_month)}
            </td>
          </tr>
          <tr>
            <th scope="row">Requests a minute</th>
            <td data-label="Used" class="is-number">
              {numberText(requests)}
            </td>
            <td data-label="Reserved" class="is-number">
              0
            </td>
            <td data-label="Left" class="is-number">
              {numberText(requestsLeft)}
            </td>
            <td data-label="Allowed" class="is-number">
              {numberText(requestsMax)}
            </td>
          </tr>
        </tbody>
      </table>
    </section>
  );
}
