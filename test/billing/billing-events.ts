import type {
  CustomerEvent,
  PaymentEvent,
  ReturnEvent,
  SubscriptionEvent,
} from '#billing/provider';

/** Id of the account in these tests. */
export const ACCOUNT_ID = 'Acc0unt00001';

/** Length of a day, in milliseconds. */
export const DAY_MS = 86_400_000;

/** Start of the test, and of the first month. */
export const START_MS = Date.UTC(2026, 0, 1);
/** End of the first month. */
export const MONTH_END_MS = Date.UTC(2026, 1, 1);

let events = 0;

function named(atMs: number) {
  events += 1;
  return { id: `evt_${events}`, atMs, customerId: 'cus_1', accountId: ACCOUNT_ID };
}

/**
 * A subscription event. Default: pro, active, paid until the month's end; overridden by `change`.
 */
export function subscription(
  atMs: number,
  change: Partial<SubscriptionEvent> = {},
): SubscriptionEvent {
  return {
    ...named(atMs),
    kind: 'subscription',
    subscriptionId: 'sub_1',
    change: 'updated',
    status: 'active',
    plan: 'pro',
    periodEndsAtMs: MONTH_END_MS,
    ...change,
  };
}

/** A payment event for the subscription. */
export function payment(
  atMs: number,
  outcome: PaymentEvent['outcome'],
  change: Partial<PaymentEvent> = {},
): PaymentEvent {
  const invoice = { subscriptionId: 'sub_1', invoiceId: 'in_1', lines: [] };
  return { ...named(atMs), kind: 'payment', outcome, ...invoice, ...change };
}

/** A completed purchase. */
export function purchase(atMs: number, customerId = 'cus_1'): CustomerEvent {
  return { ...named(atMs), kind: 'customer', customerId };
}

/** A refund or dispute of an invoice. */
export function returned(
  atMs: number,
  invoiceId: string,
  outcome: ReturnEvent['outcome'],
): ReturnEvent {
  return { ...named(atMs), kind: 'return', invoiceId, outcome };
}
