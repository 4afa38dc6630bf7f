import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { billingEventOf, STRIPE_EVENT_TYPES } from '#billing/stripe-event';
import type { BoughtPlan } from '#storage/ports/billing';
import { ACCOUNT_ID } from '#test/billing/billing-events';
import { refusalOf } from '#test/support/settled';

const AT_S = 1_767_225_600;
const END_S = AT_S + 2_678_400;

const PLANS = {
  planOf: new Map<string, BoughtPlan>([
    ['price_pro', 'pro'],
    ['price_pro_old', 'pro'],
    ['price_indie', 'indie'],
  ]),
  isLive: false,
};

/** A subscription in Stripe's format since 2025, with some fields that the code ignores. */
function subscription(change: object = {}) {
  return {
    id: 'sub_1',
    object: 'subscription',
    application: null,
    customer: 'cus_1',
    status: 'active',
    cancel_at: null,
    cancel_at_period_end: false,
    items: {
      object: 'list',
      data: [item('price_pro')],
      has_more: false,
    },
    metadata: { account_id: ACCOUNT_ID },
    ...change,
  };
}

function item(price: string, endS: number | 'none' = END_S) {
  const end = endS === 'none' ? {} : { current_period_end: endS };
  return { id: 'si_1', ...end, price: { id: price, object: 'price', currency: 'eur' } };
}

function eventOf(type: string, object: object, change: object = {}) {
  const data = { object };
  const event = { id: 'evt_1', object: 'event', type, created: AT_S, livemode: false, data };
  return billingEventOf({ ...event, ...change }, PLANS);
}

const changed = (change: object, type = 'customer.subscription.updated') =>
  eventOf(type, subscription(change));

const NAMED = { id: 'evt_1', atMs: AT_S * 1_000, customerId: 'cus_1', accountId: ACCOUNT_ID };

const SUBSCRIPTION = {
  kind: 'subscription',
  ...NAMED,
  subscriptionId: 'sub_1',
  change: 'updated',
  status: 'active',
  plan: 'pro',
  periodEndsAtMs: END_S * 1_000,
} as const;

const subscriptions = suite("Stripe's event of a subscription");

subscriptions('contains plan, status and times in milliseconds', () => {
  assert.equal(changed({}), SUBSCRIPTION);
  for (const change of ['created', 'deleted'] as const) {
    assert.equal(changed({}, `customer.subscription.${change}`), { ...SUBSCRIPTION, change });
  }
  for (const type of ['paused', 'resumed']) {
    assert.equal(changed({}, `customer.subscription.${type}`), SUBSCRIPTION);
  }
});

subscriptions('can also have the format of earlier API versions', () => {
  const earlier = { current_period_end: END_S, items: { data: [item('price_pro', 'none')] } };
  assert.equal(changed(earlier), SUBSCRIPTION);
});

subscriptions('contains its end: the cancellation time, or the end of the period', () => {
  const ends = [{ cancel_at_period_end: true }, { cancel_at: END_S }, { cancel_at: AT_S + 5 }];
  const atMs = ends.map((change) => {
    const event = changed(change);
    return event.kind === 'subscription' ? event.endsAtMs : undefined;
  });
  assert.equal(atMs, [END_S * 1_000, END_S * 1_000, (AT_S + 5) * 1_000]);
});

subscriptions('has one of five statuses', () => {
  const states = {
    ...{ active: 'active', trialing: 'trial', past_due: 'overdue', unpaid: 'overdue' },
    ...{ incomplete: 'inactive', paused: 'inactive' },
    ...{ incomplete_expired: 'ended', canceled: 'ended' },
  };
  for (const [status, expected] of Object.entries(states)) {
    assert.equal(changed({ status }), { ...SUBSCRIPTION, status: expected });
  }
});

subscriptions('has the plan of the first known price among its items', () => {
  const items = { data: [item('price_of_extras', AT_S), item('price_pro_old')] };
  assert.equal(changed({ items }), SUBSCRIPTION);
  const unknown = changed({ items: { data: [item('price_gold')] } });
  assert.equal(unknown, { kind: 'unknown_price', ...NAMED, price: 'price_gold' });
});

subscriptions('has the account id of its metadata only if that id is valid', () => {
  for (const account_id of ['', 'short', 'Acc0unt0000\n', '../Acc0unt001', 'x'.repeat(500)]) {
    assert.equal(changed({ metadata: { account_id } }), { ...SUBSCRIPTION, accountId: undefined });
  }
  for (const metadata of [null, {}, undefined]) {
    assert.equal(changed({ metadata }), { ...SUBSCRIPTION, accountId: undefined });
  }
});

const others = suite('Stripe events');

others('of an invoice become payments for its subscription', () => {
  const details = { subscription: 'sub_1', metadata: { account_id: ACCOUNT_ID } };
  const invoice = { id: 'in_1', customer: 'cus_1', parent: { subscription_details: details } };
  const invoiceId = 'in_1';
  const payment = { kind: 'payment', ...NAMED, subscriptionId: 'sub_1', invoiceId, lines: [] };
  assert.equal(eventOf('invoice.paid', invoice), { ...payment, outcome: 'paid' });
  const failed = eventOf('invoice.payment_failed', invoice);
  assert.equal(failed, { ...payment, outcome: 'failed' });
  const earlier = { id: 'in_1', customer: 'cus_1', subscription: 'sub_1' };
  const unnamed = { ...payment, outcome: 'paid', accountId: undefined };
  assert.equal(eventOf('invoice.paid', earlier), unnamed);
});

others('of a purchase link the customer to the account', () => {
  const session = { mode: 'subscription', customer: 'cus_1', client_reference_id: ACCOUNT_ID };
  const completed = (change: object) =>
    eventOf('checkout.session.completed', { ...session, ...change });
  assert.equal(completed({}), { kind: 'customer', ...NAMED });
  for (const change of [
    { mode: 'payment' },
    { customer: null },
    { client_reference_id: null },
    { client_reference_id: 'another shop' },
  ]) {
    assert.equal(completed(change), { kind: 'other', id: 'evt_1' });
  }
});

others('of other types, or of an invoice without customer or subscription, change nothing', () => {
  for (const type of ['customer.created', 'invoice.created', 'toString', 'a.new.type', '']) {
    assert.equal(eventOf(type, { anything: [1] }), { kind: 'other', id: 'evt_1' });
  }
  for (const invoice of [{ customer: 'cus_1' }, { customer: null, subscription: 'sub_1' }]) {
    assert.equal(eventOf('invoice.paid', { id: 'in_1', ...invoice }), {
      kind: 'other',
      id: 'evt_1',
    });
  }
});

const LINE = { object: 'line_item', period: { start: AT_S, end: END_S } };

others('of an invoice contain the periods that the invoice sells and credits', () => {
  const pricing = { type: 'price_details', price_details: { price: 'price_pro' } };
  const data = [
    { ...LINE, amount: -700, price: { id: 'price_indie' } },
    { ...LINE, amount: 2_000, pricing },
    { ...LINE, amount: 0, pricing },
    { ...LINE, amount: 500, price: { id: 'price_of_extras' } },
  ];
  const invoice = { id: 'in_1', customer: 'cus_1', subscription: 'sub_1', lines: { data } };
  const event = eventOf('invoice.paid', invoice);
  const time = { fromMs: AT_S * 1_000, throughMs: END_S * 1_000 };
  assert.equal(event.kind === 'payment' && event.lines, [
    { plan: 'indie', ...time, isCredit: true },
    { plan: 'pro', ...time },
  ]);
});

// Report 8: refunds and disputes left the plan as it was.
others('of a charge report a refund, or the reinstatement of a payment', () => {
  const charge = { kind: 'charge', id: 'evt_1', atMs: AT_S * 1_000, chargeId: 'ch_1' };
  const refund = { id: 'ch_1', customer: 'cus_1', payment_intent: 'pi_1', refunded: true };
  assert.equal(eventOf('charge.refunded', refund), {
    ...{ ...charge, paymentIntentId: 'pi_1', customerId: 'cus_1', invoiceId: undefined },
    outcome: 'taken',
  });
  const part = eventOf('charge.refunded', { ...refund, refunded: false });
  assert.equal(part, { kind: 'other', id: 'evt_1' });
  const dispute = { id: 'dp_1', charge: { id: 'ch_1' }, payment_intent: null };
  const nothing = { paymentIntentId: undefined, customerId: undefined, invoiceId: undefined };
  for (const [type, outcome] of [
    ['funds_withdrawn', 'taken'],
    ['funds_reinstated', 'reinstated'],
  ]) {
    const event = eventOf(`charge.dispute.${type}`, dispute);
    assert.equal(event, { ...charge, ...nothing, outcome });
  }
});

// Report 8: an event of Stripe's test mode changed plans of a service with a live key.
others('of the other mode, test or live, change nothing', () => {
  const event = { id: 'evt_1', created: AT_S, data: { object: subscription() } };
  const type = 'customer.subscription.updated';
  for (const isLive of [true, false]) {
    const kindOf = (livemode: boolean) =>
      billingEventOf({ ...event, type, livemode }, { ...PLANS, isLive }).kind;
    assert.equal([kindOf(isLive), kindOf(!isLive)], ['subscription', 'other']);
  }
});

subscriptions('has the terms before a change, even if Stripe sends only parts of an item', () => {
  const previous_attributes = {
    ...{ status: 'trialing', cancel_at_period_end: true },
    items: { data: [{ id: 'si_1', price: { id: 'price_indie' } }] },
  };
  const data = { object: subscription(), previous_attributes };
  const event = eventOf('customer.subscription.updated', subscription(), { data });
  const ends = { periodEndsAtMs: END_S * 1_000, endsAtMs: END_S * 1_000 };
  assert.equal(event, { ...SUBSCRIPTION, before: { plan: 'indie', status: 'trial', ...ends } });
});

const wrong = suite('a signed payload that is not an event');

wrong('is refused with the reason', async () => {
  for (const json of [undefined, null, 1, 'text', [], {}, { id: 'evt_1' }]) {
    const refusal = await refusalOf(() => billingEventOf(json, PLANS));
    assert.match(refusal.message, /invalid event of the payment provider/);
  }
  for (const type of STRIPE_EVENT_TYPES) {
    for (const object of [null, 'text', [], { customer: 7 }]) {
      const refusal = await refusalOf(() => eventOf(type, object as object));
      assert.match(refusal.message, /invalid event/, `${type} of ${JSON.stringify(object)}`);
    }
  }
  for (const change of [
    { status: 'gold' },
    { items: { data: [] } },
    { items: { data: [item('price_pro', 'none')] } },
    { items: { data: [item('price_pro', -1)] } },
    { items: { data: [item('price_pro', 1e300)] } },
    { cancel_at: 'soon' },
    { customer: '' },
    { id: 'x'.repeat(256) },
  ]) {
    const refusal = await refusalOf(() => changed(change));
    assert.match(refusal.message, /invalid event/, JSON.stringify(change));
  }
  await refusalOf(() => eventOf('customer.subscription.updated', subscription(), { created: 'x' }));
});

for (const each of [subscriptions, others, wrong]) each.run();
