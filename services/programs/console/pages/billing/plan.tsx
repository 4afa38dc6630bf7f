import type { Billing } from '#console/answers';
import { inWords, numberText } from '#pages/parts/format';
import { api } from '#pages/shell/api';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { RefusalNotice, WhenLoaded } from '#view/parts/notice';
import { TimeText } from '#view/parts/text';
import { Page } from '#view/shell/router';

/**
 * Billing page with the present plan and the plans for sale. Payments happen only on the provider's
 * pages.
 */
export function BillingPage({ query }: { readonly query: string }) {
  const billing = useLoaded(api.billing);
  return (
    <Page
      title="Billing"
      lead="You pay for plans at the payment provider. The console never receives card data."
      actions={
        <button type="button" onClick={() => void billing.reload()}>
          Refresh
        </button>
      }
    >
      <Returned query={query} />
      <WhenLoaded loading={billing} what="plan">
        {(value) => <Standing billing={value} />}
      </WhenLoaded>
    </Page>
  );
}

/** Result of a visit to the provider's page, according to the query. */
function Returned({ query }: { readonly query: string }) {
  switch (new URLSearchParams(query).get('checkout')) {
    case 'done':
      return (
        <p class="notice is-good" role="status">
          You are back from the checkout. The plan becomes active when the provider reports the
          payment, usually within seconds. Refresh this page to see the plan.
        </p>
      );
    case 'cancelled':
      return (
        <p class="notice" role="status">
          You left the checkout without a purchase.
        </p>
      );
    default:
      return null;
  }
}

function Standing({ billing }: { readonly billing: Billing }) {
  const checkout = useAction(async (plan: string) => leaveFor(await api.checkout(plan)));
  const portal = useAction(async () => leaveFor(await api.portal()));
  const isBusy = checkout.isBusy || portal.isBusy;
  return (
    <>
      <PaymentFailed billing={billing} />
      <section class="card" aria-labelledby="plan">
        <h2 id="plan">Plan: {inWords(billing.plan)}</h2>
        <Facts billing={billing} />
        {billing.may_manage ? (
          <>
            <button type="button" disabled={isBusy} onClick={() => portal.run()}>
              Manage at the provider
            </button>
            <p class="quiet">
              Change or cancel the plan, change the card, and see and pay invoices on a page of the
              payment provider.
            </p>
          </>
        ) : null}
        <RefusalNotice refusal={portal.refusal} />
      </section>
      {billing.provider === undefined ? <NotConfigured /> : null}
      <section class="card" aria-labelledby="plans">
        <h2 id="plans">Plans</h2>
        <RefusalNotice refusal={checkout.refusal} />
        <PlanTable billing={billing} isBusy={isBusy} onBuy={(plan) => checkout.run(plan)} />
        {billing.provider === undefined ? null : (
          <p class="quiet">The checkout shows the price before you pay.</p>
        )}
      </section>
    </>
  );
}

function leaveFor({ url }: { readonly url: string }): void {
  location.assign(url);
}

function PaymentFailed({ billing: { subscription } }: { readonly billing: Billing }) {
  const { payment_failed_at: failedAt, kept_until: keptUntil } = subscription ?? {};
  if (failedAt === undefined || keptUntil === undefined) return null;
  return (
    <div class="notice" role="alert">
      <p>
        <strong>
          A payment failed on <TimeText at={failedAt} />.
        </strong>{' '}
        The plan is kept until <TimeText at={keptUntil} />. Pay at the provider to keep the plan for
        longer.
      </p>
    </div>
  );
}

function Facts({ billing }: { readonly billing: Billing }) {
  const { plan, subscription, next_plan: next } = billing;
  if (plan === 'enterprise') {
    return <p>This plan was agreed individually. The overview shows its limits.</p>;
  }
  return (
    <>
      {subscription === undefined ? <p>This account has no subscription yet.</p> : null}
      <Renewal billing={billing} />
      {next === undefined ? null : (
        <p>
          Becomes {inWords(next.plan)} on <TimeText at={next.at} />
          {subscription?.payment_failed_at === undefined ? '.' : ', unless the payment is made.'}
        </p>
      )}
    </>
  );
}

function Renewal({ billing: { subscription } }: { readonly billing: Billing }) {
  if (subscription === undefined) return null;
  const { plan, status, ends_at: endsAt, period_ends_at: periodEndsAt } = subscription;
  const { payment_failed_at: failedAt } = subscription;
  const name = inWords(plan);
  if (status === 'ended') return <p>The subscription to {name} has ended.</p>;
  if (status === 'inactive') return <p>The subscription to {name} is paused or not paid yet.</p>;
  if (failedAt !== undefined) return <p>The subscription to {name} is not paid.</p>;
  if (endsAt !== undefined) {
    return (
      <p>
        The subscription to {name} is cancelled and ends on <TimeText at={endsAt} />.
      </p>
    );
  }
  return (
    <p>
      The subscription to {name} renews on <TimeText at={periodEndsAt} />.
    </p>
  );
}

function NotConfigured() {
  return (
    <div class="empty">
      <p class="empty-title">Plans cannot be bought yet</p>
      <p>
        No payment provider is configured. An operator of this service sets{' '}
        <code>SERVICE_BILLING_PROVIDER</code> and its variables on every limiter, or sets the plan
        of the account with <code>ctl accounts plan</code>.
      </p>
    </div>
  );
}

function PlanTable({
  billing: { plan: present, plans, may_subscribe: maySubscribe },
  isBusy,
  onBuy,
}: {
  readonly billing: Billing;
  readonly isBusy: boolean;
  readonly onBuy: (plan: string) => void;
}) {
  return (
    <table class="rows is-plain">
      <caption class="unseen">Limits by plan</caption>
      <thead>
        <tr>
          <th scope="col">Plan</th>
          <th scope="col" class="is-number">
            Requests a minute
          </th>
          <th scope="col" class="is-number">
            Cycles a month
          </th>
          <th scope="col" class="is-number">
            Instances
          </th>
          <th scope="col">
            <span class="unseen">Choice</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {plans.map(({ plan, ...limits }) => (
          <tr key={plan}>
            <th scope="row">
              <span class="row-name">{inWords(plan)}</span>
            </th>
            <td data-label="Requests" class="is-number">
              {numberText(limits.requests_per_minute)}
            </td>
            <td data-label="Cycles" class="is-number">
              {numberText(limits.cycles_per_month)}
            </td>
            <td data-label="Instances" class="is-number">
              {numberText(limits.instances)}
            </td>
            <td class="is-choice">
              {plan === present ? <span class="badge is-good">current plan</span> : null}
              {plan !== present && plan !== 'free' && maySubscribe ? (
                <button
                  type="button"
                  class="is-main"
                  disabled={isBusy}
                  aria-label={`Buy ${plan}`}
                  onClick={() => onBuy(plan)}
                >
                  Buy
                </button>
              ) : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
