import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limitsOf, type PlanChoice } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import { type BillingDeskPorts, billingDesk, type PlanAuditLine } from '#billing/billing-desk';
import { type LocalEvent, localProvider } from '#billing/local-provider';
import { Fault } from '#fault/fault';
import { unchanging } from '#platform/reloadable';
import { memoryAccountStore } from '#storage/memory/memory-account-store';
import { memoryBillingStore } from '#storage/memory/memory-billing-store';
import { ACCOUNT_ID, DAY_MS } from '#test/billing/billing-events';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn, turnOfEvents } from '#test/support/settled';

const GRACE_MS = 7 * DAY_MS;
const SECRET = 'whsec_of_this_test';

const URLS = { successUrl: 'https://shop.example/done', cancelUrl: 'https://shop.example/no' };

/** A desk with a local provider on memory, and one free account. */
async function deskUnderTest(change: Partial<BillingDeskPorts> = {}) {
  const clock = new ManualClock();
  const startMs = clock.wallMs();
  const accounts = memoryAccountStore(clock);
  const billing = memoryBillingStore();
  const provider = localProvider(unchanging([SECRET]));
  const steps: (PlanAuditLine | 'set')[] = [];
  const setPlan: BillingDeskPorts['setPlan'] = async (accountId, choice, later) => {
    steps.push('set');
    const next = later && { ...planOf(later.choice), atMs: later.atMs };
    return await accounts.setPlan(accountId, { ...planOf(choice), later: next });
  };
  const audit = async (line: PlanAuditLine) => void steps.push(line);
  const ports = { provider, billing, accounts, setPlan, audit, clock, graceMs: GRACE_MS };
  const desk = billingDesk({ ...ports, ...change });
  const account = { id: ACCOUNT_ID, name: 'a', plan: 'free', status: 'active' } as const;
  await accounts.create({ ...account, limits: limitsOf({ plan: 'free' }), createdAtMs: 0 });
  const bytesOf = (event: LocalEvent) => {
    const { body, signature } = provider.notificationFor(event, clock.wallMs());
    return [new TextEncoder().encode(body), signature] as const;
  };
  return {
    ...ports,
    desk,
    steps,
    startMs,
    audited: () => steps.filter((step) => step !== 'set'),
    notify: async (event: LocalEvent) => await desk.notified(...bytesOf(event)),
    async account() {
      const found = await accounts.find(ACCOUNT_ID);
      assert.ok(found);
      return accountAt(found.account, clock.wallMs());
    },
  };
}

function planOf(choice: PlanChoice) {
  return { plan: choice.plan, limits: limitsOf(choice) };
}

let events = 0;

function eventAt(atMs: number, change: Partial<LocalEvent> = {}): LocalEvent {
  events += 1;
  return {
    id: `evt_${events}`,
    atMs,
    accountId: ACCOUNT_ID,
    plan: 'pro',
    type: 'customer.subscription.updated',
    status: 'active',
    periodEndsAtMs: atMs + 30 * DAY_MS,
    ...change,
  };
}

const notified = suite('a notification at the desk');

notified('changes the plan once its audit line is durable', async () => {
  const scene = await deskUnderTest();
  assert.is(await scene.notify(eventAt(scene.startMs)), 'changed');
  const { plan, limits } = await scene.account();
  assert.equal([plan, limits], ['pro', limitsOf({ plan: 'pro' })]);
  const line = {
    accountId: ACCOUNT_ID,
    actor: { kind: 'provider', id: 'local' },
    action: 'plan.change',
    before: { plan: 'free', later: undefined },
    after: { plan: 'pro', later: undefined },
  };
  assert.equal(scene.steps, [line, 'set']);
});

notified(
  'changes nothing when its audit line cannot be made, and all when it comes again',
  async () => {
    const lost = new Fault('service_unavailable', 'no audit trail');
    const audit = async () => Promise.reject(lost);
    const scene = await deskUnderTest({ audit });
    const event = eventAt(scene.startMs);
    assert.is(await faultIn(scene.notify(event)), lost);
    assert.is((await scene.account()).plan, 'free');
    const later = billingDesk({ ...scene, audit: async () => {} });
    const { body, signature } = scene.provider.notificationFor(event, scene.clock.wallMs());
    assert.is(await later.notified(new TextEncoder().encode(body), signature), 'changed');
    assert.is((await scene.account()).plan, 'pro');
  },
);

notified('that comes twice changes and audits once', async () => {
  const scene = await deskUnderTest();
  const event = eventAt(scene.startMs);
  const outcomes = [await scene.notify(event), await scene.notify(event)];
  assert.equal(outcomes, ['changed', 'unchanged']);
  assert.is(scene.audited().length, 1);
});

notified('that is older than what is known changes nothing', async () => {
  const scene = await deskUnderTest();
  const created = eventAt(scene.startMs, { plan: 'indie', type: 'customer.subscription.created' });
  await scene.notify(eventAt(scene.startMs + 5_000));
  assert.is(await scene.notify(created), 'unchanged');
  assert.is((await scene.account()).plan, 'pro');
});

notified('that is held up sets no older plan in the end', async () => {
  const gate = Promise.withResolvers<void>();
  let isFirst = true;
  const audit = async () => {
    if (!isFirst) return;
    isFirst = false;
    await gate.promise;
  };
  const scene = await deskUnderTest({ audit });
  const slow = scene.notify(eventAt(scene.startMs, { plan: 'indie' }));
  await turnOfEvents();
  assert.is(await scene.notify(eventAt(scene.startMs + 1_000)), 'changed');
  assert.is((await scene.account()).plan, 'pro');
  gate.resolve();
  await slow;
  assert.is((await scene.account()).plan, 'pro');
});

notified(
  'of a cancellation leaves the plan to the end of the month, and then it is free',
  async () => {
    const scene = await deskUnderTest();
    const periodEndsAtMs = scene.startMs + 30 * DAY_MS;
    await scene.notify(eventAt(scene.startMs, { periodEndsAtMs }));
    scene.clock.advance(DAY_MS);
    const cancelled = { periodEndsAtMs, cancelsAtPeriodEnd: true };
    await scene.notify(eventAt(scene.clock.wallMs(), cancelled));
    const { plan, planChange } = await scene.account();
    assert.equal([plan, planChange?.plan, planChange?.atMs], ['pro', 'free', periodEndsAtMs]);
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

notified('of a failed payment begins the grace period, which its success ends', async () => {
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

notified('leaves an agreed plan as it is, and remembers what was said', async () => {
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

notified('of an account that is not there, or is being deleted, is ignored', async () => {
  const scene = await deskUnderTest();
  assert.is(await scene.notify(eventAt(scene.startMs, { accountId: 'An0ther00001' })), 'ignored');
  assert.is(await scene.billing.find('An0ther00001'), undefined);
  await scene.accounts.beginDeletion(ACCOUNT_ID, scene.startMs);
  assert.is(await scene.notify(eventAt(scene.startMs)), 'ignored');
  assert.is(await scene.billing.find(ACCOUNT_ID), undefined);
});

notified('that nobody signed is refused, and one that has changed on its way', async () => {
  const scene = await deskUnderTest();
  const { body, signature } = scene.provider.notificationFor(eventAt(scene.startMs), scene.startMs);
  const bytes = new TextEncoder().encode(body.replace('price_pro', 'price_indie'));
  for (const header of [undefined, signature]) {
    const refused = await faultIn(scene.desk.notified(bytes, header));
    assert.is(refused.code, 'webhook_verification_failed');
  }
  assert.is(await scene.billing.find(ACCOUNT_ID), undefined);
});

notified(
  'makes the same plan as others in whatever order, doubled and at the same time',
  async () => {
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
  },
);

const buying = suite('the desk where plans are bought');

buying('gives a page for a plan, and none while there is a subscription', async () => {
  const scene = await deskUnderTest();
  const { url } = await scene.desk.checkout(ACCOUNT_ID, { plan: 'pro', ...URLS });
  assert.match(url, new RegExp(`account=${ACCOUNT_ID}&plan=pro$`));
  await scene.notify(eventAt(scene.startMs));
  const refused = await faultIn(scene.desk.checkout(ACCOUNT_ID, { plan: 'indie', ...URLS }));
  assert.equal([refused.code, refused.reason], ['conflict', 'already_exists']);
  await scene.notify(eventAt(scene.startMs + 1_000, { status: 'canceled' }));
  await scene.desk.checkout(ACCOUNT_ID, { plan: 'indie', ...URLS });
});

buying('sells indie and pro alone', async () => {
  const { desk } = await deskUnderTest();
  for (const plan of ['free', 'enterprise', 'gold', '', 'PRO', 'toString']) {
    const refused = await faultIn(desk.checkout(ACCOUNT_ID, { plan, ...URLS }));
    assert.equal([refused.code, refused.httpStatus], ['invalid_plan', 422], plan);
  }
});

buying('sells nothing to an account that is not there, or has an agreed plan', async () => {
  const { desk, accounts } = await deskUnderTest();
  const unknown = await faultIn(desk.checkout('An0ther00001', { plan: 'pro', ...URLS }));
  assert.is(unknown.code, 'not_found');
  const limits = { requestsPerMinute: 1, cyclesPerMonth: 2, instances: 3 };
  await accounts.setPlan(ACCOUNT_ID, { plan: 'enterprise', limits });
  const agreed = await faultIn(desk.checkout(ACCOUNT_ID, { plan: 'pro', ...URLS }));
  assert.is(agreed.code, 'conflict');
});

buying('gives a page to change what was bought, to those who have bought', async () => {
  const scene = await deskUnderTest();
  const request = { returnUrl: 'https://shop.example/account' };
  assert.is((await faultIn(scene.desk.portal(ACCOUNT_ID, request))).code, 'not_found');
  await scene.notify(eventAt(scene.startMs));
  const { url } = await scene.desk.portal(ACCOUNT_ID, request);
  assert.match(url, new RegExp(`customer=cus_${ACCOUNT_ID}$`));
});

buying('sends nobody to an address that is not safe', async () => {
  const scene = await deskUnderTest();
  await scene.notify(eventAt(scene.startMs));
  for (const url of [
    'http://shop.example/',
    'http://127.0.0.1.shop.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://shop.example/',
    '/relative',
    '//shop.example/',
    'https://user:password@shop.example/',
    'https://user@shop.example/',
    `https://shop.example/${'x'.repeat(2_048)}`,
    '',
  ]) {
    const portal = await faultIn(scene.desk.portal(ACCOUNT_ID, { returnUrl: url }));
    assert.equal([portal.code, portal.field], ['invalid_request', 'return_url'], url);
    for (const [field, name] of [
      ['success_url', 'successUrl'],
      ['cancel_url', 'cancelUrl'],
    ] as const) {
      const request = { plan: 'pro', ...URLS, [name]: url };
      assert.is((await faultIn(scene.desk.checkout(ACCOUNT_ID, request))).field, field);
    }
  }
  for (const returnUrl of ['http://localhost:8002/', 'http://127.0.0.1/', 'http://[::1]:80/']) {
    await scene.desk.portal(ACCOUNT_ID, { returnUrl });
  }
});

buying('is closed without a provider', async () => {
  const { desk } = await deskUnderTest({ provider: undefined });
  for (const call of [
    desk.checkout(ACCOUNT_ID, { plan: 'gold', ...URLS }),
    desk.portal(ACCOUNT_ID, { returnUrl: 'x' }),
    desk.notified(new Uint8Array(), undefined),
  ]) {
    const refused = await faultIn(call);
    assert.equal([refused.code, refused.httpStatus], ['billing_provider_not_configured', 500]);
  }
});

for (const each of [notified, buying]) each.run();
