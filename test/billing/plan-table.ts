import { type Entitlement, entitlementOf } from '#billing/entitlement';
import { billingEventOf } from '#billing/stripe-event';
import { applied, NO_BILLING } from '#billing/subscription';
import type { BoughtPlan } from '#storage/ports/billing';
import { ACCOUNT_ID, DAY_MS } from '#test/billing/billing-events';

/*
 * Table (state, event) -> plan of docs/billing.md. Each row is a sequence of Stripe events in the
 * format of API version 2025-03-31, with all fields that the code reads and some others.
 */

/** Start of the first month. */
const START_S = Date.UTC(2026, 0, 1) / 1_000;
/** Time of a change within the first month. */
const CHANGE_S = START_S + 10 * 86_400;
/** End of the first month, and start of the second. */
const END_S = Date.UTC(2026, 1, 1) / 1_000;
/** End of the second month. */
const NEXT_END_S = Date.UTC(2026, 2, 1) / 1_000;
const HOUR_S = 3_600;
const GRACE_DAYS = 7;

/** A row of the table, with its Stripe events in the order of sending. */
export type PlanRow = {
  readonly state: string;
  readonly event: string;
  /** Plan after the event. */
  readonly plan: string;
  readonly events: readonly object[];
};

const READING = {
  planOf: new Map<string, BoughtPlan>([
    ['price_indie', 'indie'],
    ['price_pro', 'pro'],
  ]),
  isLive: true,
};

/** Plan of the account directly after the last event of a row, in the words of the table. */
export function planAfterRow({ events }: PlanRow): string {
  const known = events.map((event) => billingEventOf(event, READING));
  const record = known.reduce((now, event) => {
    if (event.kind === 'other' || event.kind === 'unknown_price') return now;
    if (event.kind !== 'charge') return applied(now, event);
    // A dispute contains only a charge id; the provider's API returns the invoice.
    const { id, atMs, outcome, invoiceId = 'in_1' } = event;
    const whose = { customerId: 'cus_1', accountId: ACCOUNT_ID };
    return applied(now, { kind: 'return', id, atMs, outcome, invoiceId, ...whose });
  }, NO_BILLING);
  const times = events.map((event) => ('created' in event ? Number(event.created) : 0));
  const nowMs = Math.max(...times) * 1_000;
  return worded(entitlementOf(record, nowMs, GRACE_DAYS * DAY_MS), nowMs);
}

function worded(entitlement: Entitlement | undefined, nowMs: number): string {
  if (entitlement === undefined) return 'unchanged';
  const { plan, later } = entitlement;
  if (later === undefined) return `\`${plan}\``;
  const isGrace = later.atMs > nowMs && later.atMs === nowMs + GRACE_DAYS * DAY_MS;
  const end = isGrace ? 'for the grace period' : 'to its paid end';
  return `\`${plan}\` ${end}, then \`${later.plan}\``;
}

type Terms = { plan: BoughtPlan; status: string; endS: number; extra?: object };

let count = 0;

function event(type: string, created: number, data: object): object {
  count += 1;
  // Stripe's ids are not ordered by time. Here, later events get smaller ids.
  const id = `evt_${String(9_999 - count)}`;
  return {
    id,
    object: 'event',
    api_version: '2025-03-31.basil',
    type,
    created,
    livemode: true,
    data,
  };
}

function subscription({ plan, status, endS, extra = {} }: Terms): object {
  return {
    ...{ id: 'sub_1', object: 'subscription', customer: 'cus_1', status, livemode: true },
    ...{ cancel_at: null, cancel_at_period_end: false, pause_collection: null },
    ...{ collection_method: 'charge_automatically', latest_invoice: 'in_1' },
    items: { object: 'list', data: [item(plan, endS)] },
    metadata: { account_id: ACCOUNT_ID },
    ...extra,
  };
}

const item = (plan: BoughtPlan, endS: number) => ({
  ...{ id: 'si_1', object: 'subscription_item', current_period_end: endS },
  price: { id: `price_${plan}`, object: 'price' },
});

const created = (terms: Terms, atS = START_S) =>
  event('customer.subscription.created', atS, { object: subscription(terms) });

const updated = (atS: number, terms: Terms, previous_attributes: object) =>
  event('customer.subscription.updated', atS, { object: subscription(terms), previous_attributes });

const deleted = (atS: number, terms: Terms) =>
  event('customer.subscription.deleted', atS, {
    object: subscription({ ...terms, status: 'canceled' }),
  });

type Line = { plan: BoughtPlan; amount: number; startS: number; endS: number };

function invoice(type: string, atS: number, id: string, lines: Line[]): object {
  const details = { subscription: 'sub_1', metadata: { account_id: ACCOUNT_ID } };
  const data = lines.map(({ plan, amount, startS, endS }) => ({
    ...{ object: 'line_item', amount, period: { start: startS, end: endS } },
    pricing: {
      type: 'price_details',
      price_details: { price: `price_${plan}`, product: 'prod_1' },
    },
  }));
  const parent = { type: 'subscription_details', subscription_details: details };
  const object = { id, object: 'invoice', customer: 'cus_1', parent, lines: { data } };
  return event(`invoice.${type}`, atS, { object });
}

const month = (plan: BoughtPlan): Line[] => [{ plan, amount: 1_000, startS: START_S, endS: END_S }];
const nextMonth = (plan: BoughtPlan): Line[] => [
  { plan, amount: 1_000, startS: END_S, endS: NEXT_END_S },
];
const upgradeLines: Line[] = [
  { plan: 'indie', amount: -700, startS: CHANGE_S, endS: END_S },
  { plan: 'pro', amount: 2_100, startS: CHANGE_S, endS: END_S },
];

const at = (plan: BoughtPlan, status = 'active', endS = END_S, extra = {}): Terms => ({
  ...{ plan, status, endS, extra },
});

const paid = (plan: BoughtPlan) => [
  created(at(plan)),
  invoice('paid', START_S, 'in_1', month(plan)),
];
const trial = [created(at('pro', 'trialing'))];
const formerItems = (plan: BoughtPlan, endS = END_S) => ({ items: { data: [item(plan, endS)] } });

/** `indie` is paid; `pro` is selected but not paid. */
const switched = [...paid('indie'), updated(CHANGE_S, at('pro'), formerItems('indie'))];
const switchFailed = [
  ...switched,
  invoice('payment_failed', CHANGE_S, 'in_2', upgradeLines),
  updated(CHANGE_S, at('pro', 'past_due'), { status: 'active' }),
];
const switchPaid = [...switched, invoice('paid', CHANGE_S + 2, 'in_2', upgradeLines)];

/** The second month has started. Its invoice is a draft for an hour. */
const renewing = [
  ...paid('pro'),
  updated(END_S, at('pro', 'active', NEXT_END_S), formerItems('pro')),
];
const renewalFailed = [
  ...renewing,
  invoice('payment_failed', END_S + HOUR_S, 'in_2', nextMonth('pro')),
  updated(END_S + HOUR_S, at('pro', 'past_due', NEXT_END_S), { status: 'active' }),
];
const paused = [
  ...paid('pro'),
  updated(CHANGE_S, at('pro', 'active', END_S, { pause_collection: { behavior: 'void' } }), {
    pause_collection: null,
  }),
];
const trialEndedNow = [
  ...trial,
  updated(CHANGE_S, at('pro', 'active', NEXT_END_S), {
    status: 'trialing',
    ...formerItems('pro', END_S),
  }),
];

const charge = (atS: number, refunded: boolean, invoiceId = 'in_1') =>
  event('charge.refunded', atS, {
    object: { id: 'ch_1', object: 'charge', customer: 'cus_1', invoice: invoiceId, refunded },
  });

const dispute = (change: 'funds_withdrawn' | 'funds_reinstated', atS: number): object => {
  const object = { id: 'dp_1', object: 'dispute', charge: 'ch_1', payment_intent: 'pi_1' };
  return event(`charge.dispute.${change}`, atS, { object });
};

const cancelling = { cancel_at_period_end: true };

/**
 * All rows of the table. The first Stripe events of a row lead to its state. The others are its
 * event.
 */
export const PLAN_ROWS: readonly PlanRow[] = [
  row('nothing bought', 'purchase, first payment missing', '`free`', [
    created(at('pro', 'incomplete')),
  ]),
  row('nothing bought', 'purchase, paid', '`pro`', paid('pro')),
  row('nothing bought', 'purchase, invoice sent but not paid', '`free`', [
    created(at('pro', 'active', END_S, { collection_method: 'send_invoice' })),
  ]),
  row('nothing bought', 'trial begins', '`pro`', trial),
  row('first payment missing', 'payment made', '`pro`', [
    created(at('pro', 'incomplete')),
    updated(START_S, at('pro'), { status: 'incomplete' }),
  ]),
  row('trial', 'ends on time, invoice is a draft', '`pro`', [
    ...trial,
    updated(END_S, at('pro', 'active', NEXT_END_S), { status: 'trialing', ...formerItems('pro') }),
  ]),
  row('trial', 'ended early by deletion', '`free`', [...trial, deleted(CHANGE_S, at('pro'))]),
  row('trial', 'ended early, first payment made', '`pro`', [
    ...trialEndedNow,
    invoice('paid', CHANGE_S, 'in_2', [
      { plan: 'pro', amount: 2_000, startS: CHANGE_S, endS: NEXT_END_S },
    ]),
  ]),
  row('trial', 'ended early, first payment failed', '`free`', [
    ...trialEndedNow,
    invoice('payment_failed', CHANGE_S, 'in_2', nextMonth('pro')),
    updated(CHANGE_S, at('pro', 'past_due', NEXT_END_S), { status: 'active' }),
  ]),
  row('trial', 'ended early, then deleted before the payment', '`free`', [
    ...trialEndedNow,
    deleted(CHANGE_S + HOUR_S, at('pro', 'active', NEXT_END_S)),
  ]),
  row('`indie` paid', 'switch to `pro`, payment pending', '`indie`', switched),
  row('`indie` paid', 'switch to `pro`, paid', '`pro`', switchPaid),
  row(
    '`indie` paid',
    'switch to `pro`, payment failed',
    '`indie` to its paid end, then `free`',
    switchFailed,
  ),
  row('switch to `pro` failed', 'payment made', '`pro`', [
    ...switchFailed,
    invoice('paid', CHANGE_S + HOUR_S, 'in_2', upgradeLines),
  ]),
  row('switch to `pro` failed', 'deleted', '`indie` to its paid end, then `free`', [
    ...switchFailed,
    deleted(CHANGE_S + HOUR_S, at('pro')),
  ]),
  row('switch to `pro` failed', 'switch back to `indie`', '`indie`', [
    ...switchFailed,
    updated(CHANGE_S + HOUR_S, at('indie'), { status: 'past_due', ...formerItems('pro') }),
  ]),
  row('switch to `pro` failed', 'its invoice is voided', '`indie`', [
    ...switchFailed,
    invoice('voided', CHANGE_S + HOUR_S, 'in_2', upgradeLines),
    updated(CHANGE_S + HOUR_S, at('pro'), { status: 'past_due' }),
  ]),
  row('`pro` paid', 'switch to `indie`', '`pro` to its paid end, then `indie`', [
    ...paid('pro'),
    updated(CHANGE_S, at('indie'), formerItems('pro')),
  ]),
  row('`pro` paid', 'switch to `indie` with a credit for the rest of `pro`', '`indie`', [
    ...paid('pro'),
    updated(CHANGE_S, at('indie'), formerItems('pro')),
    invoice('paid', CHANGE_S, 'in_2', [
      { plan: 'pro', amount: -2_000, startS: CHANGE_S, endS: END_S },
      { plan: 'indie', amount: 700, startS: CHANGE_S, endS: END_S },
    ]),
  ]),
  row('`pro` paid', 'two changes in one second: to `indie`, back to `pro`', '`pro`', [
    ...paid('pro'),
    updated(CHANGE_S, at('indie'), formerItems('pro')),
    updated(CHANGE_S, at('pro'), formerItems('indie')),
  ]),
  row('`pro` paid', 'cancelled at the end of the period', '`pro` to its paid end, then `free`', [
    ...paid('pro'),
    updated(CHANGE_S, at('pro', 'active', END_S, cancelling), { cancel_at_period_end: false }),
  ]),
  row('cancelled', 'cancellation taken back', '`pro`', [
    ...paid('pro'),
    updated(CHANGE_S, at('pro', 'active', END_S, cancelling), { cancel_at_period_end: false }),
    updated(CHANGE_S, at('pro'), { cancel_at_period_end: true }),
  ]),
  row('`pro` paid', 'deleted', '`pro` to its paid end, then `free`', [
    ...paid('pro'),
    deleted(CHANGE_S, at('pro')),
  ]),
  row('`pro` paid', 'collection paused', '`pro` to its paid end, then `free`', paused),
  row('collection paused', 'a period begins', '`free`', [
    ...paused,
    updated(END_S, at('pro', 'active', NEXT_END_S, { pause_collection: { behavior: 'void' } }), {
      ...formerItems('pro'),
    }),
  ]),
  row('collection paused', 'collection resumed', '`pro`', [
    ...paused,
    updated(CHANGE_S + HOUR_S, at('pro'), { pause_collection: { behavior: 'void' } }),
  ]),
  row('`pro` paid', 'refund in full', '`free`', [...paid('pro'), charge(CHANGE_S, true)]),
  row('`pro` paid', 'refund in part', '`pro`', [...paid('pro'), charge(CHANGE_S, false)]),
  row('`pro` paid', 'dispute, funds withdrawn', '`free`', [
    ...paid('pro'),
    dispute('funds_withdrawn', CHANGE_S),
  ]),
  row('disputed', 'dispute won, funds reinstated', '`pro`', [
    ...paid('pro'),
    dispute('funds_withdrawn', CHANGE_S),
    dispute('funds_reinstated', CHANGE_S + HOUR_S),
  ]),
  row('switch to `pro` paid', 'refund of the switch', '`indie` to its paid end, then `free`', [
    ...switchPaid,
    charge(CHANGE_S + HOUR_S, true, 'in_2'),
  ]),
  row('`pro` paid', 'period ends, next invoice is a draft', '`pro`', renewing),
  row('renewal not paid yet', 'payment made', '`pro`', [
    ...renewing,
    invoice('paid', END_S + HOUR_S, 'in_2', nextMonth('pro')),
  ]),
  row('renewal not paid yet', 'deleted', '`free`', [
    ...renewing,
    deleted(END_S + HOUR_S / 2, at('pro', 'active', NEXT_END_S)),
  ]),
  row('renewal not paid yet', 'invoice voided or uncollectible', '`free`', [
    ...renewing,
    invoice('voided', END_S + HOUR_S, 'in_2', nextMonth('pro')),
  ]),
  row(
    'renewal not paid yet',
    'payment failed',
    '`pro` for the grace period, then `free`',
    renewalFailed,
  ),
  row('renewal failed', 'payment made', '`pro`', [
    ...renewalFailed,
    invoice('paid', END_S + 2 * HOUR_S, 'in_2', nextMonth('pro')),
  ]),
  row('renewal failed', 'deleted', '`free`', [
    ...renewalFailed,
    deleted(END_S + 2 * HOUR_S, at('pro', 'past_due', NEXT_END_S)),
  ]),
  row('any', "an event of Stripe's other mode", 'unchanged', [
    { ...paid('pro')[0], livemode: false },
  ]),
];

function row(state: string, event: string, plan: string, events: readonly object[]): PlanRow {
  return { state, event, plan, events };
}
