import type { AccountEvent, PaymentEvent, SubscriptionEvent } from '#billing/billing-provider';
import type {
  BilledCustomer,
  BilledSubscription,
  BillingRecord,
  ReturnFact,
  SubscriptionFact,
} from '#storage/billing-store';

/*
 * The facts about an account's subscriptions, from notifications in whatever order and however often
 * they come. A record is a set of the newest facts, so the same notifications make the same record
 * (decision 300). `subscription-state.ts` evaluates the facts in the order of time.
 */

/** Customers of an account: one, unless two purchases began at the same time. Chosen. */
const CUSTOMERS_MAX = 8;

/** Newest subscriptions of an account: one lives at a time in good order. Chosen. */
const SUBSCRIPTIONS_MAX = 8;

/** Newest facts about one subscription: a month has two or three. Chosen. */
const FACTS_MAX = 48;

/** Newest refunds and disputes of an account. Chosen. */
const RETURNS_MAX = 24;

/** The record of an account that has no notification. */
export const NO_BILLING: BillingRecord = { customers: [], subscriptions: [], returns: [] };

/** The record with `event` added; a known event changes nothing. */
export function applied(record: BillingRecord, event: AccountEvent): BillingRecord {
  const customers = withCustomer(record.customers, { id: event.customerId, atMs: event.atMs });
  switch (event.kind) {
    case 'customer':
      return { ...record, customers };
    case 'return': {
      const { id: eventId, atMs, invoiceId, outcome } = event;
      const returns = withFact(record.returns, { eventId, atMs, invoiceId, outcome }, RETURNS_MAX);
      return { ...record, customers, returns };
    }
    case 'subscription':
    case 'payment': {
      const { subscriptionId: id } = event;
      const known = record.subscriptions.find((one) => one.id === id)?.facts ?? [];
      const next = { id, facts: withFact(known, factOf(event), FACTS_MAX) };
      const others = record.subscriptions.filter((one) => one.id !== id);
      return { ...record, customers, subscriptions: newestOf([...others, next]) };
    }
  }
}

function factOf(event: SubscriptionEvent | PaymentEvent): SubscriptionFact {
  const { id: eventId, customerId: _, accountId: _account, subscriptionId: _id, ...rest } = event;
  if (rest.kind === 'payment') return { ...rest, eventId, kind: 'invoice' };
  return { ...rest, eventId, kind: 'description' };
}

/** The newest `max` facts in the order of time and event id. Each event counts once. */
function withFact<Fact extends SubscriptionFact | ReturnFact>(
  known: readonly Fact[],
  fact: Fact,
  max: number,
): Fact[] {
  return [...known.filter(({ eventId }) => eventId !== fact.eventId), fact]
    .sort((a, b) => a.atMs - b.atMs || compareText(a.eventId, b.eventId))
    .slice(-max);
}

function withCustomer(
  customers: readonly BilledCustomer[],
  heard: BilledCustomer,
): BilledCustomer[] {
  const known = customers.find(({ id }) => id === heard.id);
  const newest = known !== undefined && known.atMs > heard.atMs ? known : heard;
  return [...customers.filter(({ id }) => id !== heard.id), newest]
    .sort((a, b) => b.atMs - a.atMs || compareText(a.id, b.id))
    .slice(0, CUSTOMERS_MAX);
}

/** The newest subscriptions, in the order of their ids. */
function newestOf(subscriptions: readonly BilledSubscription[]): BilledSubscription[] {
  return subscriptions
    .toSorted((a, b) => newsMsOf(b) - newsMsOf(a) || compareText(a.id, b.id))
    .slice(0, SUBSCRIPTIONS_MAX)
    .sort((a, b) => compareText(a.id, b.id));
}

function newsMsOf({ facts }: BilledSubscription): number {
  return facts.at(-1)?.atMs ?? 0;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
