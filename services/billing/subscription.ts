import type { AccountEvent, PaymentEvent, SubscriptionEvent } from '#billing/billing-provider';
import type {
  BilledCustomer,
  BilledSubscription,
  BillingRecord,
  SubscriptionSnapshot,
} from '#storage/billing-store';

/*
 * What is known of an account's subscriptions, from notifications in whatever order and however often
 * they come: every field is the newest, the earliest or the largest of what was ever said, so that the
 * same set of events makes the same record (decision 248). Exact within the bounds below.
 */

/** Customers of an account: one, unless two purchases began at the same time. Chosen. */
const CUSTOMERS_MAX = 8;

/** Subscriptions that are remembered, the newest; one lives at a time in good order. Chosen. */
const SUBSCRIPTIONS_MAX = 8;

/** Failed payments since the last good one; a provider tries one payment up to eight times. Chosen. */
const FAILURES_MAX = 16;

/** The record of an account of which nothing was ever said. */
export const NO_BILLING: BillingRecord = { customers: [], subscriptions: [] };

/** The record once `event` is known as well; an event that is known changes nothing. */
export function applied(record: BillingRecord, event: AccountEvent): BillingRecord {
  const customers = withCustomer(record.customers, { id: event.customerId, atMs: event.atMs });
  if (event.kind === 'customer') return { ...record, customers };
  const { subscriptionId: id } = event;
  const known = record.subscriptions.find((one) => one.id === id) ?? fresh(id);
  const next = event.kind === 'payment' ? paid(known, event) : described(known, event);
  const others = record.subscriptions.filter((one) => one.id !== id);
  return { customers, subscriptions: newestOf([...others, next]) };
}

function fresh(id: string): BilledSubscription {
  return { id, paidThroughMs: {}, failedAtMs: [] };
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

/** The description counts if it is the newest; that it is paid or overdue counts of its time. */
function described(known: BilledSubscription, event: SubscriptionEvent): BilledSubscription {
  const snapshot = snapshotOf(event);
  const isNewer = known.snapshot === undefined || compare(known.snapshot, snapshot) < 0;
  const next = isNewer ? { ...known, snapshot } : known;
  switch (event.status) {
    case 'active': {
      const throughMs = Math.max(next.paidThroughMs[event.plan] ?? 0, event.periodEndsAtMs);
      const paidThroughMs = { ...next.paidThroughMs, [event.plan]: throughMs };
      return goodAt({ ...next, paidThroughMs }, event.atMs);
    }
    case 'overdue':
      return badAt(next, event.atMs);
    case 'inactive':
    case 'ended':
      return next;
  }
}

function paid(known: BilledSubscription, { outcome, atMs }: PaymentEvent): BilledSubscription {
  return outcome === 'paid' ? goodAt(known, atMs) : badAt(known, atMs);
}

function goodAt(known: BilledSubscription, atMs: number): BilledSubscription {
  const paidAtMs = Math.max(known.paidAtMs ?? 0, atMs);
  return { ...known, paidAtMs, failedAtMs: known.failedAtMs.filter((ms) => ms > paidAtMs) };
}

/** Of one second, a payment that was made is the later one: it is what ends the tries. */
function badAt(known: BilledSubscription, atMs: number): BilledSubscription {
  if (atMs <= (known.paidAtMs ?? 0)) return known;
  const times = [...new Set([...known.failedAtMs, atMs])].sort((a, b) => a - b);
  return { ...known, failedAtMs: times.slice(0, FAILURES_MAX) };
}

function snapshotOf(event: SubscriptionEvent): SubscriptionSnapshot {
  const { atMs, id: eventId, plan, status, periodEndsAtMs, endsAtMs } = event;
  const snapshot = { atMs, rank: rankOf(event), eventId, plan, status, periodEndsAtMs };
  return endsAtMs === undefined ? snapshot : { ...snapshot, endsAtMs };
}

/** Providers date events by the second, in which a subscription is made and becomes active. */
function rankOf({ change, status }: SubscriptionEvent): number {
  switch (change) {
    case 'created':
      return 0;
    case 'updated':
      return status === 'inactive' ? 1 : 2;
    case 'deleted':
      return 3;
  }
}

function compare(a: SubscriptionSnapshot, b: SubscriptionSnapshot): number {
  return a.atMs - b.atMs || a.rank - b.rank || compareText(a.eventId, b.eventId);
}

/** The newest subscriptions, in the order of their ids. */
function newestOf(subscriptions: readonly BilledSubscription[]): BilledSubscription[] {
  return subscriptions
    .toSorted((a, b) => newsMsOf(b) - newsMsOf(a) || compareText(a.id, b.id))
    .slice(0, SUBSCRIPTIONS_MAX)
    .sort((a, b) => compareText(a.id, b.id));
}

function newsMsOf({ snapshot, paidAtMs = 0, failedAtMs }: BilledSubscription): number {
  return Math.max(snapshot?.atMs ?? 0, paidAtMs, failedAtMs.at(-1) ?? 0);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
