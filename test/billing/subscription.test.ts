import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { entitlementOf } from '#billing/entitlement';
import type { AccountEvent } from '#billing/provider';
import { applied, NO_BILLING } from '#billing/subscription';
import {
  DAY_MS,
  MONTH_END_MS,
  payment,
  purchase,
  returned,
  START_MS,
  subscription,
} from '#test/billing/billing-events';

const GRACE_MS = 7 * DAY_MS;

const recordOf = (events: readonly AccountEvent[]) => events.reduce(applied, NO_BILLING);

const planOf = (events: readonly AccountEvent[], nowMs: number) =>
  entitlementOf(recordOf(events), nowMs, GRACE_MS);

const plan = suite('the plan of an account with a subscription');

plan('is undefined before the first subscription event', () => {
  assert.is(planOf([], START_MS), undefined);
  assert.is(planOf([purchase(START_MS), payment(START_MS, 'paid')], START_MS), undefined);
});

plan('takes effect immediately, and has no end while the subscription continues', () => {
  const bought = [subscription(START_MS, { change: 'created' })];
  const expected = { plan: 'pro', later: undefined };
  for (const nowMs of [START_MS, MONTH_END_MS - 1, MONTH_END_MS + DAY_MS]) {
    assert.equal(planOf(bought, nowMs), expected, 'the next notification may be late');
  }
});

plan('takes no effect before the first payment', () => {
  const pending = subscription(START_MS, { change: 'created', status: 'inactive' });
  assert.equal(planOf([pending], START_MS), { plan: 'free', later: undefined });
  const given = [pending, subscription(START_MS, { status: 'ended' })];
  assert.is(planOf(given, START_MS)?.plan, 'free');
});

plan('takes effect immediately if more expensive, and after the paid month if cheaper', () => {
  const indie = subscription(START_MS, { plan: 'indie' });
  const switched = subscription(START_MS + DAY_MS);
  const line = { plan: 'pro', fromMs: START_MS + DAY_MS, throughMs: MONTH_END_MS } as const;
  const invoice = payment(START_MS + DAY_MS, 'paid', { lines: [line] });
  const pro = [switched, invoice];
  assert.equal(planOf([indie, ...pro], START_MS + DAY_MS), { plan: 'pro', later: undefined });
  const back = subscription(START_MS + 2 * DAY_MS, { plan: 'indie' });
  const cheaper = planOf([indie, ...pro, back], START_MS + 2 * DAY_MS);
  assert.equal(cheaper, { plan: 'pro', later: { plan: 'indie', atMs: MONTH_END_MS } });
  assert.equal(planOf([indie, ...pro, back], MONTH_END_MS), { plan: 'indie', later: undefined });
});

plan('continues after a cancellation until the end of the paid month', () => {
  const endsAtMs = MONTH_END_MS;
  const expected = { plan: 'pro', later: { plan: 'free', atMs: MONTH_END_MS } };
  const bought = subscription(START_MS);
  for (const end of [
    subscription(START_MS + DAY_MS, { endsAtMs }),
    subscription(START_MS + DAY_MS, { change: 'deleted', status: 'ended' }),
  ]) {
    assert.equal(planOf([bought, end], START_MS + DAY_MS), expected);
    assert.equal(planOf([bought, end], MONTH_END_MS), { plan: 'free', later: undefined });
  }
  const again = subscription(START_MS + 2 * DAY_MS);
  const cancelled = subscription(START_MS + DAY_MS, { endsAtMs });
  assert.is(planOf([bought, cancelled, again], START_MS + 2 * DAY_MS)?.later, undefined);
});

plan('is the better of two subscriptions, and the end of one does not affect the other', () => {
  const first = subscription(START_MS, { plan: 'indie', endsAtMs: MONTH_END_MS });
  const second = subscription(START_MS + DAY_MS, { subscriptionId: 'sub_2' });
  const end = subscription(MONTH_END_MS, { plan: 'indie', change: 'deleted', status: 'ended' });
  assert.equal(planOf([first, second, end], MONTH_END_MS), { plan: 'pro', later: undefined });
});

const unpaid = suite('a failed payment');

const FAILED_MS = MONTH_END_MS + DAY_MS;
const RENEWED = [
  subscription(START_MS),
  subscription(MONTH_END_MS, { periodEndsAtMs: Date.UTC(2026, 2, 1) }),
];

unpaid('keeps the plan for the grace period, which starts at the first failure', () => {
  const failing = [...RENEWED, payment(FAILED_MS, 'failed')];
  const graceEndMs = FAILED_MS + GRACE_MS;
  const expected = { plan: 'pro', later: { plan: 'free', atMs: graceEndMs } };
  assert.equal(planOf(failing, FAILED_MS), expected);
  const overdue = subscription(FAILED_MS, { status: 'overdue' });
  const laterMs = FAILED_MS + 3 * DAY_MS;
  for (const invoiceId of ['in_1', 'in_2']) {
    const again = [...failing, overdue, payment(laterMs, 'failed', { invoiceId })];
    assert.equal(planOf(again, laterMs), expected, invoiceId);
    assert.equal(planOf(again, graceEndMs), { plan: 'free', later: undefined });
  }
});

unpaid('has no effect after a later payment succeeds, even if the grace period is over', () => {
  const madeMs = FAILED_MS + 9 * DAY_MS;
  const events = [...RENEWED, payment(FAILED_MS, 'failed'), payment(madeMs, 'paid')];
  assert.equal(planOf(events, madeMs), { plan: 'pro', later: undefined });
  const next = [...events, payment(madeMs + 20 * DAY_MS, 'failed')];
  const again = planOf(next, madeMs + 20 * DAY_MS);
  assert.is(again?.later?.atMs, madeMs + 27 * DAY_MS, 'the next failure has its own grace period');
});

unpaid('leaves its month without a plan if the subscription then ends', () => {
  const end = subscription(FAILED_MS + 2 * DAY_MS, { change: 'deleted', status: 'ended' });
  const events = [...RENEWED, payment(FAILED_MS, 'failed'), end];
  const expected = { plan: 'free', later: undefined };
  assert.equal(planOf(events, FAILED_MS + 2 * DAY_MS), expected);
});

unpaid('does not extend a plan whose end is scheduled within the grace period', () => {
  const endsAtMs = FAILED_MS + DAY_MS;
  const events = [
    ...RENEWED,
    payment(FAILED_MS, 'failed'),
    subscription(FAILED_MS, { status: 'overdue', endsAtMs }),
  ];
  assert.is(planOf(events, FAILED_MS)?.later?.atMs, endsAtMs);
});

const order = suite('notifications');

const moments = fc.integer({ min: 0, max: 12 }).map((days) => START_MS + days * DAY_MS);
const subscriptionIds = fc.constantFrom('sub_1', 'sub_2');

const terms = fc.record(
  {
    status: fc.constantFrom('trial', 'active', 'overdue', 'inactive', 'ended'),
    plan: fc.constantFrom('indie', 'pro'),
    periodEndsAtMs: moments,
    endsAtMs: moments,
    isPaused: fc.constant(true),
  },
  { requiredKeys: ['status', 'plan', 'periodEndsAtMs'] },
);

const line = fc.record({
  plan: fc.constantFrom('indie', 'pro'),
  fromMs: moments,
  throughMs: moments,
});

const invoiceIds = fc.constantFrom('in_1', 'in_2');

const anyEvent: fc.Arbitrary<AccountEvent> = fc.oneof(
  fc
    .record({
      atMs: moments,
      subscriptionId: subscriptionIds,
      change: fc.constantFrom('created', 'updated', 'deleted'),
      customerId: fc.constantFrom('cus_1', 'cus_2'),
      before: terms,
    })
    .chain((change) => terms.map((now) => subscription(change.atMs, { ...change, ...now }))),
  fc
    .record({
      atMs: moments,
      outcome: fc.constantFrom('paid', 'failed', 'written_off'),
      subscriptionId: subscriptionIds,
      invoiceId: invoiceIds,
      lines: fc.array(line, { maxLength: 2 }),
    })
    .map((change) => payment(change.atMs, change.outcome, change)),
  fc.tuple(moments, fc.constantFrom('cus_1', 'cus_3')).map(([atMs, id]) => purchase(atMs, id)),
  fc
    .tuple(moments, invoiceIds, fc.constantFrom('taken', 'reinstated'))
    .map(([atMs, invoiceId, outcome]) => returned(atMs, invoiceId, outcome)),
);

order('lead to the same record in any order, with repetitions and replays', () => {
  const histories = fc.array(anyEvent, { maxLength: 16 }).chain((events) =>
    fc.tuple(
      fc.constant(events),
      fc.shuffledSubarray([...events, ...events], {
        minLength: events.length * 2,
        maxLength: events.length * 2,
      }),
    ),
  );
  fc.assert(
    fc.property(histories, ([events, disordered]) => {
      const expected = recordOf(events);
      assert.equal(recordOf(disordered), expected);
      planOf(events, MONTH_END_MS);
      assert.equal(events.reduce(applied, expected), expected, 'the whole history repeated');
    }),
    { numRuns: 2_000 },
  );
});

order(
  'of one second are applied as created, updated, failed and paid, in any order of arrival',
  () => {
    const made = subscription(START_MS, { change: 'created', status: 'inactive', id: 'evt_z' });
    const active = subscription(START_MS, { id: 'evt_a' });
    for (const events of [
      [made, active, payment(START_MS, 'failed'), payment(START_MS, 'paid')],
      [payment(START_MS, 'paid'), payment(START_MS, 'failed'), active, made],
    ]) {
      assert.equal(planOf(events, START_MS), { plan: 'pro', later: undefined });
    }
  },
);

order('keep the record small, whatever their number', () => {
  const events = Array.from({ length: 400 }, (_, index) => {
    const atMs = START_MS + index * DAY_MS;
    const subscriptionId = `sub_${index % 40}`;
    const customerId = `cus_${index}`;
    return [
      subscription(atMs, { subscriptionId, customerId }),
      payment(atMs + 1 + index, 'failed', { subscriptionId: 'sub_39' }),
    ];
  }).flat();
  const { customers, subscriptions } = recordOf(events);
  assert.equal([customers.length, subscriptions.length], [8, 8]);
  assert.ok(subscriptions.every(({ facts }) => facts.length <= 48));
  assert.ok(JSON.stringify({ customers, subscriptions }).length < 60_000);
});

for (const each of [plan, unpaid, order]) each.run();
