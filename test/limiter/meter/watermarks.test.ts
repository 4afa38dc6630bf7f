import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { custom, meterUnderTest, record, settlement } from '#test/limiter/limiter-fixture';

const ahead = suite('a watermark');

ahead('is raised before the first grant, and again when half its allowance remains', () => {
  const { admit, journal, clock, dependsOn } = meterUnderTest(custom(1_000, 1_000));
  const offsets: number[] = [];
  for (let call = 1; call <= 20; call += 1) {
    if (call === 10) clock.advance(1_000);
    admit(call);
    offsets.push(dependsOn());
  }
  assert.equal(
    journal.heads.map(({ monthWatermark, windowWatermark }) => [monthWatermark, windowWatermark]),
    [
      [18, 18],
      [27, 27],
      [36, 36],
    ],
  );
  const first = Array.from({ length: 18 }, () => 1);
  assert.equal(offsets, [...first, 2, 2], 'a raise delays only calls that need it');
});

ahead('follows the usage in a tenth of a second', () => {
  const { admit, journal, clock } = meterUnderTest(custom(100_000, 100_000));
  for (let call = 1; call <= 2_000; call += 1) {
    if (call % 2 === 0) clock.advance(1);
    admit(call);
  }
  const last = journal.heads.at(-1);
  const raises = journal.heads.map(({ monthWatermark }, i) => {
    return monthWatermark - (journal.heads[i - 1]?.monthWatermark ?? 0);
  });
  assert.ok(Math.max(...raises) <= 200, `${Math.max(...raises)}`);
  const left = (last?.monthWatermark ?? 0) - 2_000;
  assert.ok(left <= 400, 'a crash costs at most a fifth of a second of use');
  assert.ok(left >= 150, 'the allowance covers a slow append');
  assert.ok(journal.heads.length < 50, `${journal.heads.length} records for a second`);
});

ahead('is also awaited by a retry during the raise', () => {
  const { admit, dependsOn } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 0);
  assert.is(dependsOn(), 1, 'depends only on the window');
  admit(2);
  assert.is(dependsOn(), 2);
  admit(2);
  assert.is(dependsOn(), 2, 'the first attempt may have failed during the raise');
});

ahead('is never above the limit, and needs no more records at the limit', () => {
  const { admit, journal } = meterUnderTest(custom(12, 15));
  for (let call = 1; call <= 30; call += 1) admit(call, call === 1 ? 4 : 1);
  assert.is(journal.heads.at(-1)?.windowWatermark, 12);
  assert.is(journal.heads.at(-1)?.monthWatermark, 15);
  assert.ok(journal.heads.length <= 3, `${journal.heads.length}`);
});

ahead('is raised by twice the need of a call that needs more than a usual raise', () => {
  const { admit, journal } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 100);
  assert.is(journal.heads.at(-1)?.monthWatermark, 200);
});

ahead('is not alternately raised and lowered by calls that refund their reservations', () => {
  for (const cycles of [1, 5, 10, 11, 17, 100]) {
    const { admit, settle, journal, clock } = meterUnderTest(custom(1_000, 1_000));
    for (let call = 1; call <= 6; call += 1) {
      admit(call, cycles);
      settle(call, 0);
      clock.advance(250);
    }
    const values = journal.heads.map(({ monthWatermark }) => monthWatermark);
    assert.ok(values.length <= 2, `${cycles} cycles: ${values}`);
  }
});

ahead('is lowered by the next settlement if lowering was refused', () => {
  const { admit, settle, meter, turn, journal, clock } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 100);
  clock.advance(250);
  const refuse = () => {
    throw new Fault('service_unavailable', 'the journal is full');
  };
  const refused = meter.answer(settlement(1, 0), { ...turn(), commit: refuse });
  assert.is(refused.allowance?.cyclesRemaining, 1_000, 'the settlement itself is accepted');
  admit(2, 1);
  assert.is(journal.heads.at(-1)?.monthWatermark, 200);
  settle(2, 0);
  assert.is(journal.heads.at(-1)?.monthWatermark, 18);
});

ahead('does not hide an unexpected error while it is lowered', () => {
  const { admit, meter, turn, clock } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 100);
  clock.advance(250);
  const fail = () => {
    throw new TypeError('a bug');
  };
  assert.throws(() => meter.answer(settlement(1, 0), { ...turn(), commit: fail }), /a bug/);
});

ahead('that cannot be raised because the journal is down leaves the call uncharged', () => {
  const { meter, turn, admit, now } = meterUnderTest(custom(100, 100));
  for (let call = 1; call <= 11; call += 1) admit(call);
  const before = meter.usage(now());
  const down = () => {
    throw new Error('the journal is down');
  };
  const call = {
    kind: 'admit',
    accountId: 'x',
    callId: 99,
    callTag: 0,
    scope: 'full',
    cycles: 30,
  } as const;
  const keyDigest = record(custom(1, 1)).keys[0]?.digest ?? '';
  assert.throws(() => meter.answer({ ...call, keyDigest }, { ...turn(), commit: down }), /down/);
  assert.equal(meter.usage(now()), before);
});

ahead('is not raised for a call without cycles', () => {
  const { admit, journal } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 0);
  assert.is(journal.heads.at(-1)?.monthWatermark, 0);
  assert.is(journal.heads.at(-1)?.windowWatermark, 18);
});

const crash = suite('after a crash');

crash('both watermarks are counted as used, and the possible loss is reported', () => {
  const first = meterUnderTest(custom(100, 100));
  for (let call = 1; call <= 3; call += 1) {
    first.admit(call);
    first.settle(call, 1);
  }
  const { meter, now, admit, losses } = first.next();
  const { verdict, allowance } = admit(4);
  assert.is(verdict, 'admitted');
  assert.equal([allowance?.requestsRemaining, allowance?.cyclesRemaining], [81, 81]);
  assert.equal(losses, [{ cause: 'crash', cycles: 18 }]);
  assert.is(meter.usage(now())?.cyclesLost, 18);
});

crash('losses above a thousandth of the monthly quota are reported once', () => {
  const heavyOf = (quota: number) => {
    const first = meterUnderTest(custom(100, quota));
    first.admit(1);
    const second = first.next();
    second.admit(2);
    const third = second.next();
    third.admit(3);
    return [second.heavyLosses.length, third.heavyLosses.length];
  };
  assert.equal(heavyOf(1_000), [1, 0]);
  assert.equal(heavyOf(1_000_000), [0, 0]);
});

crash('no grant has used a raise that was not durable', () => {
  const first = meterUnderTest(custom(100, 100));
  for (let call = 1; call <= 6; call += 1) first.admit(call);
  first.journal.durable = 1;
  assert.is(first.dependsOn(), 1);
  first.admit(7, 20);
  assert.ok(first.dependsOn() > 1, 'the answer must wait for the record');
  assert.is(first.next().admit(8).allowance?.cyclesRemaining, 81);
});

crash('the window continues to its end, at most 60 s', () => {
  const first = meterUnderTest(custom(19, 100));
  first.admit(1);
  first.clock.advance(20_000);
  const second = first.next();
  assert.is(second.admit(2).verdict, 'admitted');
  assert.is(second.admit(3).verdict, 'rate_limited');
  second.clock.advance(39_999);
  assert.is(second.admit(4).verdict, 'rate_limited');
  second.clock.advance(1);
  assert.is(second.admit(5).verdict, 'admitted');
  second.clock.stepWall(-3_600_000);
  const third = second.next();
  third.admit(6);
  third.clock.advance(60_000);
  assert.is(third.admit(7).allowance?.requestsRemaining, 18, 'the wall clock does not matter');
});

crash('the next month has nothing from the previous month', () => {
  const first = meterUnderTest(custom(100, 100));
  first.admit(1, 50);
  const second = first.next();
  second.clock.advance(31 * 86_400_000);
  assert.is(second.admit(2).allowance?.cyclesRemaining, 99);
  assert.equal(second.losses, [], 'a finished month is not charged');
});

crash('grants of the new month inside an old window are not repeated', () => {
  const first = meterUnderTest(custom(1_000, 1_000));
  first.clock.advance(Date.UTC(2026, 1, 1) - first.clock.wallMs() - 1_000);
  first.admit(1, 100);
  first.settle(1, 100);
  first.admit(2, 100);
  first.settle(2, 100);
  first.admit(3, 50);
  first.settle(3, 50);
  first.clock.advance(1_000);
  first.admit(4, 10);
  const { allowance } = first.next().admit(5);
  assert.ok((allowance?.cyclesRemaining ?? 1_000) <= 989, `${allowance?.cyclesRemaining} remain`);
  assert.is(allowance?.monthResetAtS, Date.UTC(2026, 2, 1) / 1_000);
});

crash('the previous month does not start again if a clock is behind', () => {
  const first = meterUnderTest(custom(100, 30));
  first.clock.advance(Date.UTC(2026, 1, 1) - first.clock.wallMs());
  first.admit(1, 30);
  first.clock.stepWall(-3_600_000);
  assert.is(first.next().admit(2).verdict, 'quota_exceeded');
});

const handoff = suite('after a handoff');

handoff('counts and open reservations are exact, and a late settlement is applied', () => {
  const first = meterUnderTest(custom(100, 100));
  first.admit(1, 5);
  first.settle(1, 3);
  first.admit(2, 7);
  first.clock.advance(10_000);
  first.close();
  const { meter, now, settle, clock, losses, admit } = first.next();
  const usage = meter.usage(now());
  assert.equal([usage?.cyclesUsed, usage?.cyclesReserved, usage?.cyclesLost], [3, 7, 0]);
  assert.is(usage?.requestsInWindow, 2);
  assert.is(settle(2, 0).allowance?.cyclesRemaining, 97);
  assert.is(admit(3, 1).allowance?.cyclesRemaining, 96);
  clock.advance(60_000);
  assert.is(meter.usage(now())?.cyclesUsed, 4);
  assert.equal(losses, [{ cause: 'expired', cycles: 1 }]);
});

handoff('a reservation expires at its original time', () => {
  const first = meterUnderTest(custom(100, 100));
  first.admit(1, 5);
  first.clock.advance(50_000);
  first.close();
  const { meter, now, clock } = first.next();
  assert.is(meter.usage(now())?.cyclesReserved, 5);
  clock.advance(9_999);
  assert.is(meter.usage(now())?.cyclesReserved, 5);
  clock.advance(1);
  assert.equal([meter.usage(now())?.cyclesReserved, meter.usage(now())?.cyclesUsed], [0, 5]);
});

handoff('no record is written without a change', () => {
  const { admit, settle, close, journal, next } = meterUnderTest(custom(100, 100));
  close();
  assert.is(journal.heads.length, 0, 'a new meter writes no record');
  admit(1);
  settle(1, 1);
  close();
  close();
  assert.is(journal.heads.length, 2);
  const second = next();
  second.meter.usage(second.now());
  second.close();
  assert.is(journal.heads.length, 2);
});

handoff('that was aborted, no call is granted without a new record', () => {
  const { admit, settle, close, journal, dependsOn } = meterUnderTest(custom(100, 100));
  admit(1, 5);
  settle(1, 0);
  admit(2, 2);
  close();
  admit(3, 1);
  assert.is(dependsOn(), 3);
  assert.equal(
    journal.heads.map(({ monthWatermark }) => monthWatermark),
    [18, 2, 20],
  );
});

for (const each of [ahead, crash, handoff]) each.run();
