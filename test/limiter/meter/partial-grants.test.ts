import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { admission, custom, meterUnderTest, settlement } from '#test/limiter/limiter-fixture';

/** A meter, and a function that admits a fleet call. */
function meterOf(requestsPerMinute: number, cyclesPerMonth: number) {
  const scene = meterUnderTest(custom(requestsPerMinute, cyclesPerMonth));
  const admitMany = (callId: number, cycles: number, requests: number) =>
    scene.meter.answer({ ...admission(callId, cycles), isPartial: true, requests }, scene.turn());
  return { ...scene, admitMany };
}

const partial = suite('a call that allows fewer cycles');

partial('gets the cycles that are left, and then is refused', () => {
  const { admitMany, settle } = meterOf(100, 1_000);
  const [first, second, third] = [1, 2, 3].map((id) => admitMany(id, 600, 6));
  assert.equal(
    [first, second, third].map((answer) => [answer?.verdict, answer?.cycles]),
    [
      ['admitted', 600],
      ['admitted', 400],
      ['quota_exceeded', undefined],
    ],
  );
  assert.is(settle(1, 600).allowance?.cyclesRemaining, 0);
  assert.is(settle(2, 150).allowance?.cyclesRemaining, 250);
});

partial('needs no cycle if it requests none', () => {
  const { admitMany } = meterOf(100, 1);
  assert.is(admitMany(1, 1, 1).verdict, 'admitted');
  const { verdict, reservation, cycles } = admitMany(2, 0, 1);
  assert.equal([verdict, reservation, cycles], ['admitted', undefined, 0]);
});

// The books would show charged cycles that no engine committed and no crash explains.
partial('is charged for cycles with unknown use, which count as expired', () => {
  const { meter, admitMany, turn, now, expired } = meterOf(100, 1_000);
  admitMany(1, 600, 6);
  meter.answer({ ...settlement(1, 200), cyclesUnknown: 50 }, turn());
  const usage = meter.usage(now());
  assert.equal([usage?.cyclesUsed, usage?.cyclesExpired, usage?.cyclesReserved], [250, 50, 0]);
  assert.is(expired(), 1);
});

// A record with more expired than used cycles cannot be stored, so the meter would stop.
partial('is charged at most for its reservation', () => {
  const { meter, admitMany, turn, now, close } = meterOf(100, 400);
  admitMany(1, 600, 6);
  meter.answer({ ...settlement(1, 100), cyclesUnknown: 600 }, turn());
  const usage = meter.usage(now());
  assert.equal([usage?.cyclesUsed, usage?.cyclesExpired], [400, 300]);
  close();
});

const several = suite('a call that counts as several requests');

several('is counted whole or not at all', () => {
  const { admit, admitMany } = meterOf(10, 10_000);
  assert.is(admitMany(1, 700, 7).allowance?.requestsRemaining, 3);
  const refused = admitMany(2, 400, 4);
  assert.equal([refused.verdict, refused.allowance?.requestsRemaining], ['rate_limited', 3]);
  assert.is(admit(3).allowance?.requestsRemaining, 2);
  assert.is(admitMany(4, 200, 2).allowance?.requestsRemaining, 0);
});

for (const each of [partial, several]) each.run();
