import type { BillingProvider } from '#billing/provider';
import { signatureOf, verifiedNotification } from '#billing/signed-notification';
import { billingEventOf } from '#billing/stripe-event';
import { Fault } from '#fault/fault';
import type { Reloadable } from '#platform/files';
import type { BoughtPlan } from '#storage/ports/billing';

/** The prices of the local provider. */
const PRICES: Readonly<Record<BoughtPlan, string>> = { indie: 'price_indie', pro: 'price_pro' };
const PLANS = new Map<string, BoughtPlan>([
  [PRICES.indie, 'indie'],
  [PRICES.pro, 'pro'],
]);

/** Where its pages would be: the name resolves nowhere (RFC 2606). */
const PAGES = 'http://billing.invalid';

/** What happens to a subscription of the local provider. Times are Unix milliseconds. */
export type LocalEvent = {
  /** Names the event: the same one for the same notification. */
  readonly id: string;
  readonly atMs: number;
  readonly accountId: string;
  readonly plan: BoughtPlan;
  readonly type:
    | 'customer.subscription.created'
    | 'customer.subscription.updated'
    | 'customer.subscription.deleted'
    | 'invoice.paid'
    | 'invoice.payment_failed';
  /** Status of the subscription; an event of an invoice does not send it. */
  readonly status: 'active' | 'past_due' | 'canceled';
  readonly periodEndsAtMs: number;
  readonly cancelsAtPeriodEnd?: boolean;
};

/** A notification as it is sent: the body, and the value of `Stripe-Signature`. */
type SignedNotification = { readonly body: string; readonly signature: string };

/** A provider that takes no money, for tests and a machine of one's own. */
export type LocalProvider = BillingProvider & {
  /** The notification of an event, signed at `nowMs` as Stripe signs. */
  notificationFor(event: LocalEvent, nowMs: number): SignedNotification;
};

/**
 * A provider that sells for nothing: its pages are addresses that lead nowhere, and what a person
 * would do there is said by `notificationFor`. It signs and reads as Stripe does, with the same code.
 */
export function localProvider(webhookSecrets: Reloadable<readonly string[]>): LocalProvider {
  return {
    name: 'local',
    async checkout({ accountId, plan }) {
      return { url: `${PAGES}/checkout?account=${accountId}&plan=${plan}` };
    },
    portal: async ({ customerId }) => ({
      url: `${PAGES}/portal?customer=${encodeURIComponent(customerId)}`,
    }),
    read(rawBody, signature, nowMs) {
      const json = verifiedNotification(rawBody, signature, webhookSecrets.current, nowMs);
      return billingEventOf(json, { planOf: PLANS, isLive: false });
    },
    async chargedFor({ customerId, invoiceId }) {
      if (customerId === undefined || invoiceId === undefined) return undefined;
      return { customerId, invoiceId };
    },
    notificationFor(event, nowMs) {
      const [secret] = webhookSecrets.current;
      if (secret === undefined) {
        throw new Fault('billing_provider_not_configured', 'there is no secret to sign with');
      }
      const body = JSON.stringify(stripeEventOf(event));
      return { body, signature: signatureOf(body, secret, nowMs) };
    },
  };
}

/** An account has one customer and one subscription here, named after it. */
function stripeEventOf(event: LocalEvent): object {
  const { id, type, atMs } = event;
  const isInvoice = type === 'invoice.paid' || type === 'invoice.payment_failed';
  return {
    id,
    object: 'event',
    type,
    created: Math.floor(atMs / 1_000),
    livemode: false,
    data: { object: isInvoice ? invoiceOf(event) : subscriptionOf(event) },
  };
}

function subscriptionOf({ accountId, plan, status, ...event }: LocalEvent): object {
  const periodEndS = Math.floor(event.periodEndsAtMs / 1_000);
  return {
    id: `sub_${accountId}`,
    object: 'subscription',
    customer: `cus_${accountId}`,
    status,
    cancel_at_period_end: event.cancelsAtPeriodEnd ?? false,
    items: { data: [{ current_period_end: periodEndS, price: { id: PRICES[plan] } }] },
    metadata: { account_id: accountId },
  };
}

/** One invoice for each plan and period. */
function invoiceOf({ accountId, plan, atMs, periodEndsAtMs }: LocalEvent): object {
  const period = { start: Math.floor(atMs / 1_000), end: Math.floor(periodEndsAtMs / 1_000) };
  const pricing = { price_details: { price: PRICES[plan] } };
  const subscription = `sub_${accountId}`;
  return {
    id: `in_${accountId}_${plan}_${period.end}`,
    object: 'invoice',
    customer: `cus_${accountId}`,
    parent: { subscription_details: { subscription, metadata: { account_id: accountId } } },
    lines: { data: [{ amount: 1_000, period, pricing }] },
  };
}
