import type { BillingProvider } from '#billing/provider';
import { signatureOf, verifiedNotification } from '#billing/signed-notification';
import { billingEventOf } from '#billing/stripe-event';
import { Fault } from '#errors/fault';
import type { Reloadable } from '#stdlib/files';
import type { BoughtPlan } from '#storage/ports/billing';

/** Price ids of the local provider. */
const PRICES: Readonly<Record<BoughtPlan, string>> = { indie: 'price_indie', pro: 'price_pro' };
const PLANS = new Map<string, BoughtPlan>([
  [PRICES.indie, 'indie'],
  [PRICES.pro, 'pro'],
]);

/** Base URL for the provider's pages. The host name does not resolve (RFC 2606). */
const PAGES = 'http://billing.invalid';

/** An event about a subscription at the local provider. Times are Unix milliseconds. */
export type LocalEvent = {
  /** Event id. A repeated notification has the same id. */
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
  /** Subscription status; unused for invoice events. */
  readonly status: 'active' | 'past_due' | 'canceled';
  readonly periodEndsAtMs: number;
  readonly cancelsAtPeriodEnd?: boolean;
};

/** A notification: the body, and the header `Stripe-Signature`. */
type SignedNotification = { readonly body: string; readonly signature: string };

/** A payment provider without real payments, for tests and local runs. */
export type LocalProvider = BillingProvider & {
  /** Builds an event's notification, signed at `nowMs` in Stripe's format. */
  notificationFor(event: LocalEvent, nowMs: number): SignedNotification;
};

/**
 * Creates a provider without real payments. Its pages do not exist. `notificationFor` builds the
 * events that a purchase would cause. Signing and parsing use the same code as for Stripe.
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
        throw new Fault('billing_provider_not_configured', 'no signing secret is set');
      }
      const body = JSON.stringify(stripeEventOf(event));
      return { body, signature: signatureOf(body, secret, nowMs) };
    },
  };
}

/**
 * The event in Stripe's format. Each account has one customer and one subscription; both ids
 * contain the account id.
 */
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

/** Invoice in Stripe's format. Each plan and period has one invoice. */
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
