import { z } from 'zod';
import { isAccountId } from '#accounts/api-key';
import type { BillingEvent } from '#billing/billing-provider';
import { invalid } from '#fault/fault';
import type { BoughtPlan, SubscriptionStatus } from '#storage/billing-store';

/*
 * The parts of Stripe's events that say something of a plan. The version of an event is that of its
 * endpoint at Stripe, so what moved in 2025 is read at its new place and at its old one.
 */

/** The key under which purchases name their account, and Stripe keeps it with what comes of them. */
export const ACCOUNT_METADATA = 'account_id';

/** Stripe's ids. Length: Stripe asks for room for 255. */
const Id = z.string().min(1).max(255);

/** Unix seconds; the last ones of the year 9999. */
const Seconds = z.int().min(0).max(253_402_300_799);

const Metadata = z.record(z.string(), z.string()).nullish();

const Envelope = z.object({
  id: Id,
  type: z.string().max(255),
  created: Seconds,
  data: z.object({ object: z.unknown() }),
});

type Named = { readonly id: string; readonly atMs: number };

const STATUS = {
  active: 'active',
  trialing: 'active',
  past_due: 'overdue',
  unpaid: 'overdue',
  incomplete: 'inactive',
  paused: 'inactive',
  incomplete_expired: 'ended',
  canceled: 'ended',
} as const satisfies Record<string, SubscriptionStatus>;

const Subscription = z.object({
  id: Id,
  customer: Id,
  status: z.enum(Object.keys(STATUS) as (keyof typeof STATUS)[]),
  cancel_at: Seconds.nullish(),
  cancel_at_period_end: z.boolean().nullish(),
  // Until the version 2025-03-31; then it is with each item.
  current_period_end: Seconds.nullish(),
  items: z.object({
    data: z
      .array(z.object({ current_period_end: Seconds.nullish(), price: z.object({ id: Id }) }))
      .min(1)
      .max(100),
  }),
  metadata: Metadata,
});

const Invoice = z.object({
  customer: Id.nullish(),
  // Until the version 2025-03-31; then it is below `parent`.
  subscription: Id.nullish(),
  parent: z
    .object({
      subscription_details: z.object({ subscription: Id, metadata: Metadata }).nullish(),
    })
    .nullish(),
});

const Checkout = z.object({
  mode: z.string().max(255),
  customer: Id.nullish(),
  client_reference_id: z.string().nullish(),
});

/** The types of events that Stripe is to send; any other one changes nothing. */
export const STRIPE_EVENT_TYPES = [
  'checkout.session.completed',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.resumed',
  'invoice.paid',
  'invoice.payment_failed',
] as const;

type StripeEventType = (typeof STRIPE_EVENT_TYPES)[number];

/**
 * What an event of Stripe says, given the plan that each price is. Throws `invalid_request` for one
 * of a type above that is not as documented.
 */
export function billingEventOf(
  json: unknown,
  planOf: ReadonlyMap<string, BoughtPlan>,
): BillingEvent {
  const { id, type, created, data } = read(Envelope, json);
  if (!isOfInterest(type)) return { kind: 'other', id };
  const named = { id, atMs: created * 1_000 };
  switch (type) {
    case 'checkout.session.completed':
      return purchaseOf(named, read(Checkout, data.object));
    case 'customer.subscription.created':
      return subscriptionOf(named, read(Subscription, data.object), 'created', planOf);
    case 'customer.subscription.updated':
    case 'customer.subscription.paused':
    case 'customer.subscription.resumed':
      return subscriptionOf(named, read(Subscription, data.object), 'updated', planOf);
    case 'customer.subscription.deleted':
      return subscriptionOf(named, read(Subscription, data.object), 'deleted', planOf);
    case 'invoice.paid':
      return paymentOf(named, read(Invoice, data.object), 'paid');
    case 'invoice.payment_failed':
      return paymentOf(named, read(Invoice, data.object), 'failed');
  }
}

function purchaseOf(named: Named, session: z.infer<typeof Checkout>): BillingEvent {
  const accountId = accountOf(session.client_reference_id);
  const customerId = session.customer ?? undefined;
  if (session.mode !== 'subscription' || accountId === undefined || customerId === undefined) {
    return { kind: 'other', id: named.id };
  }
  return { kind: 'customer', ...named, accountId, customerId };
}

function subscriptionOf(
  named: Named,
  subscription: z.infer<typeof Subscription>,
  change: 'created' | 'updated' | 'deleted',
  planOf: ReadonlyMap<string, BoughtPlan>,
): BillingEvent {
  const { customer: customerId, items, metadata } = subscription;
  const accountId = accountOf(metadata?.[ACCOUNT_METADATA]);
  const whose = { ...named, customerId, accountId };
  const item = items.data.find(({ price }) => planOf.has(price.id));
  const plan = item && planOf.get(item.price.id);
  if (item === undefined || plan === undefined) {
    return { kind: 'unknown_price', ...whose, price: items.data[0]?.price.id ?? '' };
  }
  const periodEndS = item.current_period_end ?? subscription.current_period_end ?? undefined;
  if (periodEndS === undefined) throw unreadable('items.data.current_period_end is missing');
  const atPeriodEnd = subscription.cancel_at_period_end === true ? periodEndS : undefined;
  const endS = subscription.cancel_at ?? atPeriodEnd;
  return {
    kind: 'subscription',
    ...whose,
    subscriptionId: subscription.id,
    change,
    status: STATUS[subscription.status],
    plan,
    periodEndsAtMs: periodEndS * 1_000,
    endsAtMs: endS === undefined ? undefined : endS * 1_000,
  };
}

function paymentOf(
  named: Named,
  invoice: z.infer<typeof Invoice>,
  outcome: 'paid' | 'failed',
): BillingEvent {
  const details = invoice.parent?.subscription_details ?? undefined;
  const subscriptionId = details?.subscription ?? invoice.subscription ?? undefined;
  const customerId = invoice.customer ?? undefined;
  if (subscriptionId === undefined || customerId === undefined) {
    return { kind: 'other', id: named.id };
  }
  const accountId = accountOf(details?.metadata?.[ACCOUNT_METADATA]);
  return { kind: 'payment', ...named, customerId, accountId, subscriptionId, outcome };
}

/** Metadata can be written by hand, so that it may be anything. */
function accountOf(text: string | null | undefined): string | undefined {
  return typeof text === 'string' && isAccountId(text) ? text : undefined;
}

function isOfInterest(type: string): type is StripeEventType {
  return (STRIPE_EVENT_TYPES as readonly string[]).includes(type);
}

function read<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw unreadable(`${issue?.path.join('.')}: ${issue?.message}`);
}

function unreadable(what: string) {
  return invalid('wrong_type', undefined, `this is no event of the payment provider: ${what}`);
}
