import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { admission, custom, meterUnderTest, record } from '#test/limiter/limiter-fixture';

const minute = suite('the minute of an account with 3 requests');

minute('admits 3 requests and refuses further requests without counting them', () => {
  const { admit, clock } = meterUnderTest(custom(3, 100));
  const verdicts = [1, 2, 3, 4, 5].map((id) => admit(id));
  assert.equal(
    verdicts.map(({ verdict, allowance }) => [verdict, allowance?.requestsRemaining]),
    [
      ['admitted', 2],
      ['admitted', 1],
      ['admitted', 0],
      ['rate_limited', 0],
      ['rate_limited', 0],
    ],
  );
  assert.is(verdicts.at(-1)?.allowance?.cyclesRemaining, 97);
  clock.advance(60_000);
  assert.is(admit(6).allowance?.requestsRemaining, 2);
});

minute(
  "starts with the first request after the previous window, not with the clock's minute",
  () => {
    const { admit, clock } = meterUnderTest(custom(3, 100));
    admit(1);
    clock.advance(59_999);
    assert.is(admit(2).allowance?.requestsRemaining, 1);
    clock.advance(30_001);
    const late = admit(3).allowance;
    assert.is(late?.requestsRemaining, 2);
    assert.is(late?.windowResetAtS, clock.wallMs() / 1_000 + 60);
  },
);

minute('has the same announced end in every answer', () => {
  const { admit, settle, clock } = meterUnderTest(custom(3, 100));
  clock.advance(250);
  const first = admit(1).allowance?.windowResetAtS;
  for (let call = 2; call < 60; call += 1) {
    clock.advance(1_000);
    assert.is(admit(call).allowance?.windowResetAtS, first);
    assert.is(settle(call, 0).allowance?.windowResetAtS, first);
  }
});

minute('keeps its length if the wall clock steps forward, so no account gains requests', () => {
  const { admit, clock } = meterUnderTest(custom(3, 100));
  for (const id of [1, 2, 3]) admit(id);
  clock.stepWall(3_600_000);
  const { verdict, allowance } = admit(4);
  assert.is(verdict, 'rate_limited');
  assert.is(allowance?.windowResetAtS, clock.wallMs() / 1_000 + 60);
});

minute('keeps its length if the wall clock steps back, so no account is blocked', () => {
  const { admit, clock } = meterUnderTest(custom(3, 100));
  for (const id of [1, 2, 3]) admit(id);
  clock.stepWall(-3_600_000);
  assert.is(admit(4).allowance?.windowResetAtS, clock.wallMs() / 1_000 + 60);
  clock.advance(60_000);
  assert.is(admit(5).verdict, 'admitted');
});

minute('counts a call that the quota refuses, and a call without cycles', () => {
  const { admit } = meterUnderTest(custom(3, 5));
  assert.is(admit(1, 6).verdict, 'quota_exceeded');
  assert.is(admit(2, 0).verdict, 'admitted');
  assert.is(admit(3, 0).allowance?.requestsRemaining, 0);
  assert.is(admit(4, 0).verdict, 'rate_limited');
});

minute('counts each retry of a call, even with an open reservation', () => {
  const { admit } = meterUnderTest(custom(3, 100));
  const attempts = [admit(1), admit(1), admit(1), admit(1)];
  assert.equal(
    attempts.map(({ verdict }) => verdict),
    ['admitted', 'admitted', 'admitted', 'rate_limited'],
  );
});

const month = suite('the month of an account with 10 cycles');

month('refuses a batch that does not fit at no charge, and admits a smaller batch', () => {
  const { admit, settle } = meterUnderTest(custom(100, 10));
  admit(1, 4);
  settle(1, 4);
  const refused = admit(2, 7);
  assert.is(refused.verdict, 'quota_exceeded');
  assert.is(refused.allowance?.cyclesRemaining, 6);
  assert.is(refused.allowance?.requestsRemaining, 98);
  assert.is(admit(3, 6).verdict, 'admitted');
  assert.is(admit(4, 1).verdict, 'quota_exceeded');
  assert.is(admit(5, 0).verdict, 'admitted');
});

month('counts reserved cycles as used until settlement', () => {
  const { admit, settle, meter, now } = meterUnderTest(custom(100, 10));
  assert.is(admit(1, 4).allowance?.cyclesRemaining, 6);
  assert.is(settle(1, 1).allowance?.cyclesRemaining, 9);
  const usage = meter.usage(now());
  assert.equal([usage?.cyclesUsed, usage?.cyclesReserved], [1, 0]);
});

month('restarts with the next UTC month', () => {
  const { admit, settle, clock } = meterAtMonthsEnd();
  admit(1, 10);
  settle(1, 10);
  assert.is(admit(2, 1).verdict, 'quota_exceeded');
  assert.is(admit(2, 1).allowance?.monthResetAtS, Date.UTC(2026, 1, 1) / 1_000);
  clock.advance(1);
  const { verdict, allowance } = admit(3, 1);
  assert.is(verdict, 'admitted');
  assert.is(allowance?.cyclesRemaining, 9);
  assert.is(allowance?.monthResetAtS, Date.UTC(2026, 2, 1) / 1_000);
});

/** A meter 1 ms before February. */
function meterAtMonthsEnd() {
  const meter = meterUnderTest(custom(100, 10));
  meter.clock.advance(Date.UTC(2026, 1, 1) - meter.clock.wallMs() - 1);
  return meter;
}

month('refunds a reservation of the previous month to that month', () => {
  const { admit, settle, clock } = meterAtMonthsEnd();
  admit(1, 10);
  clock.advance(1);
  assert.is(admit(2, 4).allowance?.cyclesRemaining, 6);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 6);
  assert.is(settle(2, 4).allowance?.cyclesRemaining, 6);
});

month('reserves again when a call of the previous month is retried', () => {
  const { admit, settle, clock } = meterAtMonthsEnd();
  admit(1, 3);
  clock.advance(1);
  assert.is(admit(1, 3).allowance?.cyclesRemaining, 7);
  settle(1, 0);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 10);
});

month('does not start again if the wall clock steps back over its end', () => {
  const { admit, settle, clock } = meterUnderTest(custom(100, 10));
  clock.advance(Date.UTC(2026, 1, 1) - clock.wallMs());
  admit(1, 10);
  settle(1, 10);
  clock.stepWall(-1);
  assert.is(admit(2).verdict, 'quota_exceeded');
  clock.stepWall(1);
  assert.is(admit(3).verdict, 'quota_exceeded');
});

const change = suite('when an account changes');

change('a smaller plan takes effect immediately, and no count becomes negative', () => {
  const { admit, refresh } = meterUnderTest(custom(10, 100));
  for (let id = 1; id <= 5; id += 1) admit(id, 10);
  refresh(record(custom(3, 20)));
  const { verdict, allowance } = admit(6);
  assert.is(verdict, 'rate_limited');
  assert.equal([allowance?.requestsPerMinute, allowance?.requestsRemaining], [3, 0]);
  assert.equal([allowance?.cyclesPerMonth, allowance?.cyclesRemaining], [20, 0]);
});

change('a larger plan takes effect immediately, and used amounts remain', () => {
  const { admit, refresh } = meterUnderTest(custom(2, 10));
  admit(1, 10);
  assert.is(admit(2).verdict, 'quota_exceeded');
  assert.is(admit(3).verdict, 'rate_limited');
  refresh(record(custom(5, 30)));
  const { verdict, allowance } = admit(3);
  assert.is(verdict, 'admitted');
  assert.equal([allowance?.requestsRemaining, allowance?.cyclesRemaining], [2, 19]);
});

change('a suspended account is refused, can settle open calls, and can resume', () => {
  const { admit, settle, refresh } = meterUnderTest(custom(10, 10));
  admit(1, 5);
  refresh(record(custom(10, 10), { status: 'suspended' }));
  const refused = admit(2);
  assert.is(refused.verdict, 'account_suspended');
  assert.equal([refused.allowance?.requestsRemaining, refused.allowance?.cyclesRemaining], [8, 5]);
  assert.is(settle(1, 1).allowance?.cyclesRemaining, 9);
  refresh(record(custom(10, 10)));
  assert.is(admit(3).verdict, 'admitted');
});

const key = suite('a key');

key('that is unknown or not a digest gets no allowance, and its call is not counted', () => {
  const { meter, turn } = meterUnderTest(custom(10, 10));
  for (const digest of [digestOf('other'), '', 'x', 'é'.repeat(43)]) {
    const answer = meter.answer(admission(1, 1, digest), turn());
    assert.equal(answer, { verdict: 'unknown_key', allowance: undefined });
  }
  assert.is(meter.usage(turn())?.requestsInWindow, 0);
});

key('is unknown if a single character of its digest differs', () => {
  const { meter, turn } = meterUnderTest(custom(1_000, 10));
  const digest = digestOf('key');
  for (let at = 0; at < digest.length; at += 1) {
    const other = digest.slice(0, at) + (digest[at] === 'A' ? 'B' : 'A') + digest.slice(at + 1);
    assert.is(meter.answer(admission(1, 1, other), turn()).verdict, 'unknown_key', `${at}`);
  }
});

key('that is revoked or has expired is unknown', () => {
  const { meter, turn, clock, refresh } = meterUnderTest(custom(10, 10));
  const { account, keys } = record(custom(10, 10));
  const expiring = keys.map((one) => ({ ...one, expiresAtMs: clock.wallMs() + 5 }));
  refresh({ account, keys: expiring });
  clock.advance(4);
  assert.is(meter.answer(admission(1), turn()).verdict, 'admitted');
  clock.advance(1);
  assert.is(meter.answer(admission(1), turn()).verdict, 'unknown_key');
  refresh({ account, keys: keys.map((one) => ({ ...one, revokedAtMs: 0 })) });
  assert.is(meter.answer(admission(1), turn()).verdict, 'unknown_key');
});

key('is found among twenty, whatever its position', () => {
  const { meter, turn, refresh } = meterUnderTest(custom(100, 10));
  const { account } = record(custom(100, 10));
  const names = Array.from({ length: 20 }, (_, i) => `key ${i}`);
  const keys = names.map((id) => ({
    id,
    digest: digestOf(id),
    scope: 'full' as const,
    createdAtMs: 0,
  }));
  refresh({ account, keys });
  for (const id of names) {
    assert.is(meter.answer(admission(0, 0, digestOf(id)), turn()).verdict, 'admitted');
  }
});

key('with scope read is refused for writes, at the cost of a request', () => {
  const { meter, turn, refresh } = meterUnderTest(custom(3, 10));
  const { account, keys } = record(custom(3, 10));
  refresh({ account, keys: keys.map((one) => ({ ...one, scope: 'read' as const })) });
  const ask = (scope: 'read' | 'full') =>
    meter.answer(admission(1, 1, digestOf('key'), scope), turn());
  assert.is(ask('read').verdict, 'admitted');
  const refused = ask('full');
  assert.is(refused.verdict, 'read_only_key');
  assert.equal([refused.allowance?.requestsRemaining, refused.allowance?.cyclesRemaining], [1, 9]);
  assert.is(ask('full').verdict, 'read_only_key');
  assert.is(ask('full').verdict, 'rate_limited', 'refusals count towards the rate limit');
});

key('with scope read is refused because of its scope, even if the account is suspended', () => {
  const { meter, turn, refresh } = meterUnderTest(custom(3, 10));
  const { account, keys } = record(custom(3, 10), { status: 'suspended' });
  refresh({ account, keys: keys.map((one) => ({ ...one, scope: 'read' as const })) });
  const ask = (scope: 'read' | 'full') =>
    meter.answer(admission(1, 1, digestOf('key'), scope), turn());
  assert.is(ask('full').verdict, 'read_only_key');
  assert.is(ask('read').verdict, 'account_suspended');
});

key('with networks is admitted only from these networks, and refusals cost a request', () => {
  const { meter, turn, refresh } = meterUnderTest(custom(3, 10));
  const { account, keys } = record(custom(3, 10), { status: 'suspended' });
  const bound = keys.map((one) => ({ ...one, scope: 'read' as const, networks: ['10.0.0.0/8'] }));
  refresh({ account: { ...account, status: 'active' }, keys: bound });
  const ask = (address: string | undefined, scope: 'read' | 'full' = 'read') =>
    meter.answer({ ...admission(1, 1, digestOf('key'), scope), address }, turn());
  assert.is(ask('::ffff:10.1.2.3').verdict, 'admitted');
  refresh({ account, keys: bound });
  const refused = ask('11.0.0.1', 'full');
  assert.is(
    refused.verdict,
    'address_not_allowed',
    'the address is checked before scope and suspension',
  );
  assert.equal([refused.allowance?.requestsRemaining, refused.allowance?.cyclesRemaining], [1, 9]);
  assert.is(ask('unreadable').verdict, 'address_not_allowed');
  assert.is(ask('10.1.2.3').verdict, 'rate_limited');
});

key("with networks is unknown if the edge does not send the caller's address", () => {
  const { meter, turn, refresh } = meterUnderTest(custom(3, 10));
  const { account, keys } = record(custom(3, 10));
  refresh({ account, keys: keys.map((one) => ({ ...one, networks: ['10.0.0.0/8'] })) });
  const ask = (address: string | undefined) =>
    meter.answer({ ...admission(1, 1), address }, turn());
  for (const silent of [undefined, '']) {
    assert.equal(ask(silent), { verdict: 'unknown_key', allowance: undefined });
  }
  assert.is(ask('10.1.2.3').allowance?.requestsRemaining, 2, 'an unknown key costs no request');
});

minute.run();
month.run();
change.run();
key.run();
