import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf, parseApiKey } from '#accounts/api-key';
import { Fault } from '#errors/fault';
import { memoryAccountStore } from '#storage/memory/accounts';
import type { AccountStore } from '#storage/ports/accounts';
import { admission, custom, limiterUnderTest, settlement } from '#test/limiter/limiter-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn, turnOfEvents } from '#test/support/settled';

const crowd = suite('calls of an account');

crowd(
  'are admitted up to the limit if 1,000 arrive together at a meter that is not loaded',
  async () => {
    await using fixture = await limiterUnderTestDisposable(custom(60, 1_000_000));
    const ids = Array.from({ length: 1_000 }, (_, i) => i + 1);
    const answers = await Promise.all(ids.map((id) => fixture.admit(id)));
    const verdicts = answers.map(({ verdict }) => verdict);
    assert.is(verdicts.filter((verdict) => verdict === 'admitted').length, 60);
    assert.is(verdicts.filter((verdict) => verdict === 'rate_limited').length, 940);
    assert.is(await fixture.counted('limiter_checks_total{decision="allow"}'), 60);
    assert.is(await fixture.counted('limiter_checks_total{decision="rate"}'), 940);
  },
);

crowd('are answered synchronously by a meter in memory', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 1_000_000));
  await fixture.admit(1);
  const { client } = fixture.limiter;
  const digest = digestOf(fixture.key);
  const answers = [
    client.ask(admission(2, 1, digest, 'full', fixture.id)),
    client.ask(settlement(2, 0, fixture.id)),
  ];
  for (const answer of answers) assert.not.instance(answer, Promise);
});

const stranger = suite('a key of a nonexistent account');

stranger('is unknown for an admission and for a settlement', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { client } = fixture.limiter;
  const unknown = { verdict: 'unknown_key', allowance: undefined };
  assert.equal(await client.ask(admission(1, 1, digestOf('x'), 'full', 'Nobody000001')), unknown);
  assert.equal(await client.ask(settlement(1, 0, 'Nobody000001')), unknown);
});

stranger('leaves nothing in memory, even after calls for 100,000 different accounts', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { client } = fixture.limiter;
  const digest = digestOf('x');
  for (let batch = 0; batch < 100; batch += 1) {
    const ids = Array.from({ length: 1_000 }, (_, i) => `N${String(batch * 1_000 + i)}`);
    await Promise.all(ids.map((id) => client.ask(admission(1, 1, digest, 'full', id))));
  }
  fixture.clock.advance(1_000);
  assert.is(await fixture.counted('identity_actors_active{actor="meter"}'), 0);
  assert.is(await fixture.counted('limiter_checks_total{decision="key"}'), 100_000);
});

const created = suite('the first key of a new account');

created('is admitted immediately', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { admin } = fixture.limiter;
  const { id } = await admin.createAccount({ name: 'new', choice: { plan: 'free' } });
  const { key } = await admin.createKey(id, { scope: 'full' });
  assert.is((await fixture.admitKey(key)).verdict, 'admitted');
  assert.equal(parseApiKey(key), { accountId: id });
});

const change = suite('when an administrator changes accounts');

change('a revoked key is refused immediately, other keys continue, and counts remain', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { admin } = fixture.limiter;
  const other = await admin.createKey(fixture.id, { scope: 'full' });
  await fixture.admit(1, 5);
  await admin.revokeKey(fixture.id, fixture.record.id);
  assert.is((await fixture.admit(2)).verdict, 'unknown_key');
  const next = await fixture.admit(3, 1, 'full', digestOf(other.key));
  assert.is(next.verdict, 'admitted');
  assert.equal([next.allowance?.requestsRemaining, next.allowance?.cyclesRemaining], [58, 94]);
  assert.is((await fixture.settle(1, 0)).allowance?.cyclesRemaining, 99);
});

change('suspension and a new plan affect the next call', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { admin } = fixture.limiter;
  await fixture.admit(1);
  await admin.setStatus(fixture.id, 'suspended');
  assert.is((await fixture.admit(2)).verdict, 'account_suspended');
  await admin.setStatus(fixture.id, 'active');
  await admin.setPlan(fixture.id, { plan: 'free' });
  const { verdict, allowance } = await fixture.admit(3);
  assert.is(verdict, 'admitted');
  assert.equal([allowance?.requestsPerMinute, allowance?.requestsRemaining], [10, 7]);
  assert.equal([allowance?.cyclesPerMonth, allowance?.cyclesRemaining], [10_000, 9_998]);
});

change('a scheduled plan takes effect at its time, not before', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { clock, limiter } = fixture;
  const later = { choice: custom(5, 50), atMs: clock.wallMs() + 2_000 };
  await limiter.admin.setPlan(fixture.id, custom(60, 100), later);
  const limits: unknown[] = [];
  for (let call = 1; call <= 3; call += 1) {
    limits.push((await fixture.admit(call)).allowance?.requestsPerMinute);
    clock.advance(1_000);
  }
  assert.equal(limits, [60, 60, 5]);
});

change('the selected model is in the next answer', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { admin } = fixture.limiter;
  assert.not('modelVersion' in ((await fixture.admit(1)).allowance ?? {}));
  await admin.setModel(fixture.id, '1.0');
  assert.is((await fixture.admit(2)).allowance?.modelVersion, '1.0');
  await admin.setModel(fixture.id, undefined);
  assert.not('modelVersion' in ((await fixture.settle(2, 1)).allowance ?? {}));
});

change('calls wait while the account is read', async () => {
  const accounts = faltering();
  await using fixture = await limiterUnderTestDisposable(custom(60, 100), { accounts });
  await fixture.admit(1);
  const gate = accounts.hold();
  const revoking = fixture.limiter.admin.revokeKey(fixture.id, fixture.record.id);
  await gate.reached;
  const meanwhile = fixture.admit(2);
  gate.open();
  await revoking;
  assert.is((await meanwhile).verdict, 'unknown_key');
});

change('an account can have 20 usable keys, and another key after a revocation', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { admin } = fixture.limiter;
  for (let made = 1; made < 20; made += 1) await admin.createKey(fixture.id, { scope: 'read' });
  await refused('conflict', admin.createKey(fixture.id, { scope: 'read' }));
  await admin.revokeKey(fixture.id, fixture.record.id);
  await admin.createKey(fixture.id, { scope: 'read' });
  assert.is((await admin.listKeys(fixture.id)).length, 21);
});

change('changes to a nonexistent account are refused', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  const { admin } = fixture.limiter;
  await refused('not_found', admin.setPlan('Nobody000001', { plan: 'pro' }));
  await refused('not_found', admin.setStatus('Nobody000001', 'active'));
  await refused('not_found', admin.createKey('Nobody000001', { scope: 'full' }));
  await refused('not_found', admin.listKeys('Nobody000001'));
  await refused('not_found', admin.revokeKey('Nobody000001', 'key_1'));
  await refused('not_found', admin.usage('Nobody000001'));
});

const down = suite('when accounts cannot be read');

down('an account outside memory is refused as unavailable, then works again', async () => {
  const accounts = faltering();
  await using fixture = await limiterUnderTestDisposable(custom(60, 100), { accounts });
  await fixture.leave();
  accounts.isDown = true;
  await refused('service_unavailable', fixture.admit(1));
  assert.is(await fixture.counted('limiter_checks_total{decision="unavailable"}'), 1);
  accounts.isDown = false;
  assert.is((await fixture.admit(1)).verdict, 'admitted');
});

down('an account in memory works until it changes', async () => {
  const accounts = faltering();
  await using fixture = await limiterUnderTestDisposable(custom(60, 100), { accounts });
  await fixture.admit(1);
  accounts.isDown = true;
  assert.is((await fixture.admit(2)).verdict, 'admitted');
  await refused(
    'service_unavailable',
    fixture.limiter.admin.revokeKey(fixture.id, fixture.record.id),
  );
  await refused('service_unavailable', fixture.admit(3));
  accounts.isDown = false;
  assert.is((await fixture.admit(3)).verdict, 'unknown_key');
});

const idle = suite('a meter without calls');

idle('is evicted, and restores its counts at the next call', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  await fixture.admit(1, 2);
  await fixture.settle(1, 2);
  await fixture.admit(2, 0);
  await fixture.leave();
  assert.is(await fixture.catalog(), 0);
  const usage = await fixture.limiter.admin.usage(fixture.id);
  assert.equal([usage.cyclesUsed, usage.cyclesReserved, usage.cyclesLost], [2, 0, 0]);
  const { allowance } = await fixture.admit(3, 1);
  assert.is(allowance?.cyclesRemaining, 97);
});

idle('reports expired reservations without a call', async () => {
  await using fixture = await limiterUnderTestDisposable(custom(60, 100));
  await fixture.admit(1, 2);
  await fixture.leave();
  assert.is(await fixture.counted('limiter_reservations_expired_total'), 1);
});

const late = suite('a call that waited too long for its turn');

late(
  'is refused at no cost if it is an admission, and accepted if it is a settlement',
  async () => {
    const accounts = faltering();
    await using fixture = await limiterUnderTestDisposable(custom(60, 100), { accounts });
    await fixture.admit(1, 5);
    const gate = accounts.hold();
    const revoked = fixture.limiter.admin.setPlan(fixture.id, custom(60, 100));
    await gate.reached;
    const waiting = fixture.admit(2, 5);
    const settling = fixture.settle(1, 0);
    fixture.clock.advance(101);
    gate.open();
    await revoked;
    await refused('service_unavailable', waiting);
    assert.is((await settling).allowance?.cyclesRemaining, 100);
  },
);

async function limiterUnderTestDisposable(...args: Parameters<typeof limiterUnderTest>) {
  const fixture = await limiterUnderTest(...args);
  return {
    ...fixture,
    /** Advances the clock until all idle actors are evicted. */
    async leave() {
      for (let second = 0; second < 130; second += 1) {
        fixture.clock.advance(1_000);
        await turnOfEvents();
      }
    },
    catalog: () => fixture.counted('identity_actors_active{actor="meter"}'),
    async [Symbol.asyncDispose]() {
      await fixture.limiter[Symbol.asyncDispose]();
      assert.equal(fixture.bugs, []);
    },
  };
}

/** A store whose reads can fail or be delayed. */
function faltering(): AccountStore & {
  isDown: boolean;
  hold(): { reached: Promise<void>; open(): void };
} {
  const store = memoryAccountStore(new ManualClock());
  let held: { reached: () => void; opened: Promise<void> } | undefined;
  return {
    ...store,
    isDown: false,
    hold() {
      const reached = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<void>();
      held = { reached: reached.resolve, opened: opened.promise };
      return { reached: reached.promise, open: opened.resolve };
    },
    async find(id) {
      held?.reached();
      await held?.opened;
      if (this.isDown) throw new Fault('service_unavailable', 'the store is down');
      return store.find(id);
    },
  };
}

async function refused(code: string, pending: Promise<unknown>): Promise<void> {
  assert.is((await faultIn(pending)).code, code);
}

crowd.run();
const stalled = suite("an operator's reset of usage while the journal is stalled");

stalled('ends after 2.5 s with an unknown outcome', async () => {
  const append = () => new Promise<void>(() => undefined);
  const journal = { isLasting: true, isOnlyWriter: false, append };
  const { admit, clock, id, limiter } = await limiterUnderTest(custom(60, 1_000), { journal });
  let refusal: unknown;
  // The admission waits for its own record. The reset waits for earlier records.
  void admit(1).catch(() => undefined);
  await turnOfEvents();
  const reset = limiter.admin.resetUsage(id).catch((fault: unknown) => {
    refusal = fault;
  });
  await turnOfEvents();
  clock.advance(2_499);
  await turnOfEvents();
  assert.is(refusal, undefined);
  clock.advance(1);
  await reset;
  assert.instance(refusal, Fault);
  assert.ok(refusal instanceof Fault && refusal.isOutcomeUnknown);
});

stranger.run();
created.run();
stalled.run();
change.run();
down.run();
idle.run();
late.run();
