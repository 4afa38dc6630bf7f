import type { Usage } from '#console/answers';
import { inWords, numberText } from '#pages/parts/format';
import { api } from '#pages/shell/api';
import { useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { UsageCards } from '#view/billing/usage';
import { WhenLoaded } from '#view/parts/notice';
import { Link, Page } from '#view/shell/router';

const FIRST_CALL = `curl -X POST https://YOUR-HOST/v1/instances \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "Ada"}'`;

/** Overview page: usage, limits and first steps. */
export function OverviewPage() {
  return (
    <Page title="Overview">
      {may('usage.read') ? <UsagePart /> : null}
      {may('keys.read') ? <FirstSteps /> : null}
    </Page>
  );
}

function UsagePart() {
  const usage = useLoaded(api.usage);
  return (
    <WhenLoaded loading={usage} what="usage">
      {(value) => <Limits usage={value} reload={usage.reload} />}
    </WhenLoaded>
  );
}

function Limits({
  usage,
  reload,
}: {
  readonly usage: Usage;
  readonly reload: () => Promise<void>;
}) {
  return (
    <>
      <UsageCards usage={usage} />
      <p>
        <Link to="/usage">Usage by day and key</Link>
      </p>
      <UsageTable usage={usage} reload={reload} />
    </>
  );
}

/** Table of the values in the rings, with reserved and remaining amounts. */
function UsageTable({
  usage,
  reload,
}: {
  readonly usage: Usage;
  readonly reload: () => Promise<void>;
}) {
  const { requests_in_window: requests, requests_per_minute: requestsMax, plan } = usage;
  const requestsLeft = Math.max(0, requestsMax - requests);
  return (
    <section class="card" aria-labelledby="limits">
      <div class="card-head">
        <h2 id="limits">
          {plan === undefined ? 'Limits of the account' : `Plan: ${inWords(plan)}`}
        </h2>
        <button type="button" class="is-small" onClick={() => void reload()}>
          Refresh
        </button>
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

function FirstSteps() {
  return (
    <section class="card" aria-labelledby="first">
      <h2 id="first">First steps</h2>
      <ol class="steps">
        <li>
          {may('keys.write') ? (
            <>
              <Link to="/keys">Create an API key</Link> and store it: it is shown once.
            </>
          ) : (
            'Ask an owner or a developer of the account for an API key.'
          )}
        </li>
        <li>
          Create an instance with the key:
          <pre>{FIRST_CALL}</pre>
        </li>
        <li>Return to this page: it shows the call within seconds.</li>
      </ol>
    </section>
  );
}
