import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limitsOf } from '#accounts/plan';
import { type BillingDeskPorts, billingDesk } from '#billing/billing-desk';
import type { ChargedInvoice, ChargeEvent } from '#billing/provider';
import { Fault } from '#errors/fault';
import { ACCOUNT_ID, DAY_MS } from '#test/billing/billing-events';
import { deskUnderTest, eventAt, GRACE_MS } from '#test/billing/desk-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn, turnOfEvents } from '#test/support/settled';

const notified = suite('a payment notification');

notified('changes the plan after its audit line is durable', async () => {
  const scene = await deskUnderTest();
  assert.is(await scene.notify(eventAt(scene.startMs)), 'changed');
  const { plan, limits } = await scene.account();
  assert.equal([plan, limits], ['pro', limitsOf({ plan: 'pro' })]);
  const line = {
    accountId: ACCOUNT_ID,
    actor: { kind: 'provider', id: 'local' },
    action: 'plan.change',
    before: { plan: 'free' },
    after: { plan: 'pro' },
  };
  assert.equal(scene.steps, [line, 'set']);
});

notified(
  'changes nothing if its audit line fails, and takes full effect when repeated',
  async () => {
    const lost = new Fault('service_unavailable', 'no audit trail');
    const audited = async () => Promise.reject(lost);
    const scene = await deskUnderTest({ audited });
    const event = eventAt(scene.startMs);
    assert.is(await faultIn(scene.notify(event)), lost);
    assert.is((await scene.account()).plan, 'free');
    const later = billingDesk({ ...scene, audited: async (_line, change) => await change() });
    const { body, signature } = scene.provider.notificationFor(event, scene.clock.wallMs());
    assert.is(await later.notified(new TextEncoder().encode(body), signature), 'changed');
    assert.is((await scene.account()).plan, 'pro');
  },
);

notified('is applied and audited once if repeated', async () => {
  const scene = await deskUnderTest();
  const event = eventAt(scene.startMs);
  const outcomes = [await scene.notify(event), await scene.notify(event)];
  assert.equal(outcomes, ['changed', 'unchanged']);
  assert.is(scene.lines().length, 1);
});

notified('changes nothing if older than the recorded state', async () => {
  const scene = await deskUnderTest();
  const cancelled = eventAt(scene.startMs + 1_000, { cancelsAtPeriodEnd: true });
  await scene.notify(eventAt(scene.startMs));
  await scene.notify(eventAt(scene.startMs + 5_000));
  assert.is(await scene.notify(cancelled), 'unchanged');
  assert.is((await scene.account()).plan, 'pro');
});

notified('does not restore an older plan if it arrives late', async () => {
  const gate = Promise.withResolvers<void>();
  let isFirst = true;
  const audited: BillingDeskPorts['audited'] = async (_line, change) => {
    const isHeld = isFirst;
    isFirst = false;
    if (isHeld) await gate.promise;
    await change();
  };
  const scene = await deskUnderTest({ audited });
  const slow = scene.notify(eventAt(scene.startMs, { plan: 'indie' }));
  await turnOfEvents();
  await scene.notify(eventAt(scene.startMs + 1_000));
  const paid = eventAt(scene.startMs + 1_000, { type: 'invoice.paid' });
  assert.is(await scene.notify(paid), 'changed');
  assert.is((await scene.account()).plan, 'pro');
  gate.resolve();
  await slow;
  assert.is((await scene.account()).plan, 'pro');
});

notified(
  'of a cancellation keeps the plan until the month ends, and then gives the free plan',
  async () => {
    const scene = await deskUnderTest();
    const periodEndsAtMs = scene.startMs + 30 * DAY_MS;
    await scene.notify(eventAt(scene.startMs, { periodEndsAtMs }));
    scene.clock.advance(DAY_MS);
    const cancelled = { periodEndsAtMs, cancelsAtPeriodEnd: true };
    await scene.notify(eventAt(scene.clock.wallMs(), cancelled));
    const { plan, planChange } = await scene.account();
    assert.equal([plan, planChange?.plan, planChange?.atMs], ['pro', 'free', periodEndsAtMs]);
    const next = { next_plan: 'free', next_plan_at: new Date(periodEndsAtMs).toISOString() };
    assert.equal(scene.lines().at(-1)?.after, { plan: 'pro', ...next });
    scene.clock.advance(periodEndsAtMs - scene.clock.wallMs());
    assert.equal(
      [(await scene.account()).plan, (await scene.account()).planChange],
      ['free', undefined],
    );
    const ended = {
      periodEndsAtMs,
      type: 'customer.subscription.deleted',
      status: 'canceled',
    } as const;
    assert.is(await scene.notify(eventAt(periodEndsAtMs, ended)), 'unchanged');
  },
);

notified('of a failed payment starts the grace period, and a later payment ends it', async () => {
  const scene = await deskUnderTest();
  await scene.notify(eventAt(scene.startMs));
  scene.clock.advance(31 * DAY_MS);
  const failedMs = scene.clock.wallMs();
  await scene.notify(eventAt(failedMs, { status: 'past_due' }));
  assert.equal((await scene.account()).planChange?.atMs, failedMs + GRACE_MS);
  scene.clock.advance(GRACE_MS);
  assert.is((await scene.account()).plan, 'free');
  await scene.notify(eventAt(scene.clock.wallMs()));
  assert.equal(
    [(await scene.account()).plan, (await scene.account()).planChange],
    ['pro', undefined],
  );
});

// Report 8: a failed upgrade gave the dearer plan for the grace period, and took the paid plan away.
notified('of a failed upgrade keeps the paid plan until the end of the paid month', async () => {
  const scene = await deskUnderTest();
  const { startMs } = scene;
  const periodEndsAtMs = startMs + 30 * DAY_MS;
  const created = { plan: 'indie', type: 'customer.subscription.created' } as const;
  await scene.notify(eventAt(startMs, { ...created, periodEndsAtMs }));
  scene.clock.advance(DAY_MS);
  const atMs = startMs + DAY_MS;
  await scene.notify(eventAt(atMs, { periodEndsAtMs }));
  await scene.notify(eventAt(atMs, { periodEndsAtMs, type: 'invoice.payment_failed' }));
  await scene.notify(eventAt(atMs + 1_000, { periodEndsAtMs, status: 'past_due' }));
  const { plan, planChange } = await scene.account();
  assert.equal([plan, planChange?.plan, planChange?.atMs], ['indie', 'free', periodEndsAtMs]);
  const { subscription } = await scene.desk.standing(ACCOUNT_ID);
  assert.equal(subscription?.failed, { sinceMs: atMs, keptUntilMs: periodEndsAtMs });
  assert.not(scene.lines().some(({ after }) => Object.values(after).includes('pro')));
});

// Report 8: a refund left the plan as it was.
notified('of a refund ends the plan that the invoice paid for', async () => {
  const scene = await deskUnderTest();
  const periodEndsAtMs = scene.startMs + 30 * DAY_MS;
  await scene.notify(eventAt(scene.startMs));
  await scene.notify(eventAt(scene.startMs, { type: 'invoice.paid' }));
  const refund: ChargeEvent = {
    ...{ kind: 'charge', id: 'evt_refund', atMs: scene.startMs + DAY_MS, chargeId: 'ch_1' },
    ...{ paymentIntentId: 'pi_1', customerId: undefined, invoiceId: undefined, outcome: 'taken' },
  };
  scene.clock.advance(DAY_MS);
  const outcomeOf = async (charged: ChargedInvoice | undefined) => {
    const provider = { ...scene.provider, read: () => refund, chargedFor: async () => charged };
    return await billingDesk({ ...scene, provider }).notified(new Uint8Array(), '');
  };
  assert.is(await outcomeOf(undefined), 'ignored', 'the refund is for another purchase');
  const customerId = `cus_${ACCOUNT_ID}`;
  assert.is(await outcomeOf({ customerId, invoiceId: 'in_of_another' }), 'unchanged');
  const invoiceId = `in_${ACCOUNT_ID}_pro_${Math.floor(periodEndsAtMs / 1_000)}`;
  assert.is((await scene.account()).plan, 'pro');
  Object.assign(refund, { id: 'evt_refund_2' });
  assert.is(await outcomeOf({ customerId, invoiceId }), 'changed');
  assert.is((await scene.account()).plan, 'free');
});

notified('does not change an agreed plan', async () => {
  const scene = await deskUnderTest();
  const limits = { requestsPerMinute: 1, cyclesPerMonth: 2, instances: 3 };
  await scene.accounts.setPlan(ACCOUNT_ID, { plan: 'enterprise', limits });
  assert.is(await scene.notify(eventAt(scene.startMs)), 'unchanged');
  assert.equal(
    [(await scene.account()).plan, (await scene.account()).limits],
    ['enterprise', limits],
  );
  assert.equal(scene.steps, []);
});

notified('is ignored if the account does not exist or is being deleted', async () => {
  const scene = await deskUnderTest();
  assert.is(await scene.notify(eventAt(scene.startMs, { accountId: 'An0ther00001' })), 'ignored');
  assert.is(await scene.billing.find('An0ther00001'), undefined);
  await scene.accounts.beginDeletion(ACCOUNT_ID, scene.startMs);
  assert.is(await scene.notify(eventAt(scene.startMs)), 'ignored');
  assert.is(await scene.billing.find(ACCOUNT_ID), undefined);
});

notified('is refused without a signature, or with a changed body', async () => {
  const scene = await deskUnderTest();
  const { body, signature } = scene.provider.notificationFor(eventAt(scene.startMs), scene.startMs);
  const bytes = new TextEncoder().encode(body.replace('price_pro', 'price_indie'));
  for (const header of [undefined, signature]) {
    const refused = await faultIn(scene.desk.notified(bytes, header));
    assert.is(refused.code, 'webhook_verification_failed');
  }
  assert.is(await scene.billing.find(ACCOUNT_ID), undefined);
});

notified('leads to the same plan in any order, with repetition and in parallel', async () => {
  const startMs = new ManualClock().wallMs();
  const day = fc.integer({ min: 0, max: 20 }).map((days) => startMs + days * DAY_MS);
  const anyEvent = fc
    .record({
      atMs: day,
      plan: fc.constantFrom('indie' as const, 'pro' as const),
      status: fc.constantFrom('active' as const, 'past_due' as const, 'canceled' as const),
      periodEndsAtMs: day,
      cancelsAtPeriodEnd: fc.boolean(),
    })
    .map((change) => eventAt(change.atMs, change));
  const histories = fc.array(anyEvent, { minLength: 1, maxLength: 6 }).chain((list) => {
    const twice = [...list, ...list];
    const exactly = { minLength: twice.length, maxLength: twice.length };
    return fc.tuple(fc.constant(list), fc.shuffledSubarray(twice, exactly));
  });
  await fc.assert(
    fc.asyncProperty(histories, fc.boolean(), async ([list, disordered], atOnce) => {
      const [first, second] = [await deskUnderTest(), await deskUnderTest()];
      for (const event of list) await first.notify(event);
      if (atOnce) await Promise.all(disordered.map((event) => second.notify(event)));
      else for (const event of disordered) await second.notify(event);
      assert.equal(await second.account(), await first.account());
    }),
    { numRuns: 200 },
  );
});

notified.run();
