import { z } from 'zod';
import { isAccountId } from '#accounts/api-key';
import type { BillingEvent } from '#billing/provider';
import { invalid } from '#errors/fault';
import type {
  BoughtPlan,
  InvoiceFact,
  InvoiceLine,
  ReturnFact,
  SubscriptionStatus,
  SubscriptionTerms,
} from '#storage/ports/billing';

/*
 * Parts of Stripe events that concern a plan. The webhook endpoint at Stripe determines the events'
 * API version. Fields moved in 2025, so the code reads old and new locations.
 */

/** Metadata key for the purchasing account. Stripe copies metadata to the resulting objects. */
export const ACCOUNT_METADATA = 'account_id';

/** Stripe object id. Stripe documents up to 255 characters. */
const Id = z.string().min(1).max(255);

/** Unix seconds, up to the year 9999. */
const Seconds = z.int().min(0).max(253_402_300_799);

/** An id, or the whole object if the endpoint expands references. */
const Referred = z.union([Id, z.object({ id: Id }).transform(({ id }) => id)]);

const Reference = Referred.nullish().transform((id) => id ?? undefined);

const Metadata = z.record(z.string(), z.string()).nullish();

const Envelope = z.object({
  id: Id,
  type: z.string().max(255),
  created: Seconds,
  livemode: z.boolean().nullish(),
  data: z.object({
    object: z.unknown(),
    previous_attributes: z.record(z.string(), z.unknown()).nullish(),
  }),
});

type Named = { readonly id: string; readonly atMs: number };

const STATUS = {
  active: 'active',
  trialing: 'trial',
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
  collection_method: z.string().max(255).nullish(),
  latest_invoice: Reference,
  // Set while Stripe creates invoices without collecting payment; the status stays `active`.
  pause_collection: z.object({}).nullish(),
  // Moved to the items in version 2025-03-31.
  current_period_end: Seconds.nullish(),
  items: z.object({
    data: z
      .array(z.object({ current_period_end: Seconds.nullish(), price: z.object({ id: Id }) }))
      .min(1)
      .max(100),
  }),
  metadata: Metadata,
});

const Period = z.object({ start: Seconds, end: Seconds });

const Line = z.object({
  amount: z.number(),
  period: Period,
  // Moved below `pricing` in version 2025-03-31.
  price: z.object({ id: Id }).nullish(),
  pricing: z.object({ price_details: z.object({ price: Reference }).nullish() }).nullish(),
});

const Invoice = z.object({
  id: Id,
  customer: Id.nullish(),
  // Moved below `parent` in version 2025-03-31.
  subscription: Id.nullish(),
  parent: z
    .object({
      subscription_details: z.object({ subscription: Id, metadata: Metadata }).nullish(),
    })
    .nullish(),
  lines: z.object({ data: z.array(Line).max(1_000) }).nullish(),
});

const Charge = z.object({
  id: Id,
  customer: Reference,
  payment_intent: Reference,
  // Removed in version 2025-03-31.
  invoice: Reference,
  refunded: z.boolean(),
});

const Dispute = z.object({ charge: Referred, payment_intent: Reference });

const Checkout = z.object({
  mode: z.string().max(255),
  customer: Id.nullish(),
  client_reference_id: z.string().nullish(),
});

/** Event types for the webhook endpoint at Stripe. All other types are ignored. */
export const STRIPE_EVENT_TYPES = [
  'checkout.session.completed',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.resumed',
  'invoice.paid',
  'invoice.payment_failed',
  'invoice.voided',
  'invoice.marked_uncollectible',
  'charge.refunded',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
] as const;

type StripeEventType = (typeof STRIPE_EVENT_TYPES)[number];

/** Configuration for reading events. */
export type StripeReading = {
  readonly planOf: ReadonlyMap<string, BoughtPlan>;
  /** Whether the service's API key is a live-mode key. Events from the other mode are ignored. */
  readonly isLive: boolean;
};

/**
 * Reads a Stripe event. Throws `invalid_request` if an event with a type in `STRIPE_EVENT_TYPES`
 * does not have the documented format.
 */
export function billingEventOf(json: unknown, { planOf, isLive }: StripeReading): BillingEvent {
  const { id, type, created, livemode, data } = read(Envelope, json);
  const isOtherMode = typeof livemode === 'boolean' && livemode !== isLive;
  if (isOtherMode || !isOfInterest(type)) return { kind: 'other', id };
  const named = { id, atMs: created * 1_000 };
  const { object, previous_attributes: previous } = data;
  switch (type) {
    case 'checkout.session.completed':
      return purchaseOf(named, read(Checkout, object));
    case 'customer.subscription.created':
      return subscriptionOf(named, { object, previous: undefined }, 'created', planOf);
    case 'customer.subscription.updated':
    case 'customer.subscription.paused':
    case 'customer.subscription.resumed':
      return subscriptionOf(named, { object, previous: previous ?? undefined }, 'updated', planOf);
    case 'customer.subscription.deleted':
      return subscriptionOf(named, { object, previous: undefined }, 'deleted', planOf);
    case 'invoice.paid':
      return paymentOf(named, read(Invoice, object), 'paid', planOf);
    case 'invoice.payment_failed':
      return paymentOf(named, read(Invoice, object), 'failed', planOf);
    case 'invoice.voided':
    case 'invoice.marked_uncollectible':
      return paymentOf(named, read(Invoice, object), 'written_off', planOf);
    case 'charge.refunded':
      return refundOf(named, read(Charge, object));
    case 'charge.dispute.funds_withdrawn':
      return disputeOf(named, read(Dispute, object), 'taken');
    case 'charge.dispute.funds_reinstated':
      return disputeOf(named, read(Dispute, object), 'reinstated');
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
  { object, previous }: { object: unknown; previous: Record<string, unknown> | undefined },
  change: 'created' | 'updated' | 'deleted',
  planOf: ReadonlyMap<string, BoughtPlan>,
): BillingEvent {
  const subscription = read(Subscription, object);
  const { customer: customerId, items, metadata } = subscription;
  const accountId = accountOf(metadata?.[ACCOUNT_METADATA]);
  const whose = { ...named, customerId, accountId };
  const terms = termsOf(subscription, planOf);
  if (terms === undefined) {
    return { kind: 'unknown_price', ...whose, price: items.data[0]?.price.id ?? '' };
  }
  const before = previous && termsBefore(object as object, previous, planOf);
  const { latest_invoice: invoiceId, collection_method: collection } = subscription;
  return {
    kind: 'subscription',
    ...whose,
    subscriptionId: subscription.id,
    change,
    ...terms,
    ...(before !== undefined && { before }),
    ...(invoiceId !== undefined && { invoiceId }),
    ...(collection === 'send_invoice' && { isInvoiced: true }),
  };
}

/** Subscription terms; undefined if no price has a plan. */
function termsOf(
  subscription: z.infer<typeof Subscription>,
  planOf: ReadonlyMap<string, BoughtPlan>,
): SubscriptionTerms | undefined {
  const item = subscription.items.data.find(({ price }) => planOf.has(price.id));
  const plan = item && planOf.get(item.price.id);
  if (item === undefined || plan === undefined) return undefined;
  const periodEndS = item.current_period_end ?? subscription.current_period_end ?? undefined;
  if (periodEndS === undefined) throw unreadable('items.data.current_period_end is missing');
  const atPeriodEnd = subscription.cancel_at_period_end === true ? periodEndS : undefined;
  const endS = subscription.cancel_at ?? atPeriodEnd;
  return {
    ...{ plan, status: STATUS[subscription.status], periodEndsAtMs: periodEndS * 1_000 },
    ...(endS !== undefined && { endsAtMs: endS * 1_000 }),
    ...(subscription.pause_collection && { isPaused: true }),
  };
}

/**
 * The terms before a change. Stripe sends former values only for changed fields, also within items.
 */
function termsBefore(
  object: object,
  previous: Record<string, unknown>,
  planOf: ReadonlyMap<string, BoughtPlan>,
): SubscriptionTerms | undefined {
  const now = itemsOf(object);
  const former = itemsOf(previous);
  const items = former.length === 0 ? now : former.map((item, at) => ({ ...now[at], ...item }));
  const known = Subscription.safeParse({ ...object, ...previous, items: { data: items } });
  return known.success ? termsOf(known.data, planOf) : undefined;
}

const Items = z.object({ items: z.object({ data: z.array(z.record(z.string(), z.unknown())) }) });

function itemsOf(object: object): Record<string, unknown>[] {
  return Items.safeParse(object).data?.items.data ?? [];
}

function paymentOf(
  named: Named,
  invoice: z.infer<typeof Invoice>,
  outcome: InvoiceFact['outcome'],
  planOf: ReadonlyMap<string, BoughtPlan>,
): BillingEvent {
  const details = invoice.parent?.subscription_details ?? undefined;
  const subscriptionId = details?.subscription ?? invoice.subscription ?? undefined;
  const customerId = invoice.customer ?? undefined;
  if (subscriptionId === undefined || customerId === undefined) {
    return { kind: 'other', id: named.id };
  }
  const accountId = accountOf(details?.metadata?.[ACCOUNT_METADATA]);
  const lines = (invoice.lines?.data ?? []).flatMap((line) => lineOf(line, planOf));
  const whose = { ...named, customerId, accountId, subscriptionId };
  return { kind: 'payment', ...whose, invoiceId: invoice.id, outcome, lines };
}

/**
 * Plan and period that an invoice line sells or credits. A trial line has amount 0 and is skipped.
 */
function lineOf(
  { amount, period, price, pricing }: z.infer<typeof Line>,
  planOf: ReadonlyMap<string, BoughtPlan>,
): InvoiceLine[] {
  const plan = planOf.get(pricing?.price_details?.price ?? price?.id ?? '');
  if (plan === undefined || amount === 0) return [];
  const line = { plan, fromMs: period.start * 1_000, throughMs: period.end * 1_000 };
  return [amount < 0 ? { ...line, isCredit: true } : line];
}

/** Event for a full refund. A partial refund does not change the plan. */
function refundOf(named: Named, charge: z.infer<typeof Charge>): BillingEvent {
  if (!charge.refunded) return { kind: 'other', id: named.id };
  const { id: chargeId, payment_intent: paymentIntentId, customer: customerId } = charge;
  const invoiceId = charge.invoice;
  const paid = { chargeId, paymentIntentId, customerId, invoiceId };
  return { kind: 'charge', ...named, ...paid, outcome: 'taken' };
}

function disputeOf(
  named: Named,
  { charge: chargeId, payment_intent: paymentIntentId }: z.infer<typeof Dispute>,
  outcome: ReturnFact['outcome'],
): BillingEvent {
  const paid = { chargeId, paymentIntentId, customerId: undefined, invoiceId: undefined };
  return { kind: 'charge', ...named, ...paid, outcome };
}

/** The account id in metadata. Undefined if invalid: people can edit metadata. */
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
  return invalid('wrong_type', undefined, `invalid event of the payment provider: ${what}`);
}
