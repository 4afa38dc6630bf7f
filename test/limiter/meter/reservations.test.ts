import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { CLOSING_RESERVATIONS_MAX, RESERVATIONS_MAX } from '#limiter/quota-bounds';
import { custom, meterUnderTest } from '#test/limiter/limiter-fixture';

const reservation = suite('a reservation');

reservation('is settled once: a second settlement changes nothing', () => {
  const { admit, settle } = meterUnderTest(custom(100, 10));
  admit(1, 5);
  assert.is(settle(1, 2).allowance?.cyclesRemaining, 8);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 8);
  assert.is(settle(2, 0).allowance?.cyclesRemaining, 8);
});

reservation('never refunds or charges more than it reserved', () => {
  const { admit, settle } = meterUnderTest(custom(100, 10));
  admit(1, 5);
  assert.is(settle(1, 9).allowance?.cyclesRemaining, 5);
});

reservation('is shared by all attempts of its call', () => {
  const { admit, settle } = meterUnderTest(custom(100, 10));
  admit(1, 4);
  const again = admit(1, 4);
  assert.is(again.verdict, 'admitted');
  assert.is(again.allowance?.cyclesRemaining, 6);
  settle(1, 0);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 10, 'both attempts used nothing');
});

reservation('is not refunded by one attempt while another attempt may use it', () => {
  const { admit, settle } = meterUnderTest(custom(100, 10));
  admit(1, 4);
  admit(1, 4);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 6, 'the refused attempt');
  assert.is(settle(1, 4).allowance?.cyclesRemaining, 6, 'the committed attempt');
});

reservation('is charged once for two attempts, whichever is settled first', () => {
  const { admit, settle } = meterUnderTest(custom(100, 10));
  admit(1, 4);
  admit(1, 4);
  assert.is(settle(1, 4).allowance?.cyclesRemaining, 6);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 6);
});

reservation('is never shared with another call of the same id', () => {
  const { admit, settle, meter, now } = meterUnderTest(custom(100, 1_000));
  const [mine, other] = [4_711, 4_712];
  assert.is(admit(1, 100, mine).verdict, 'admitted');
  const before = meter.usage(now());
  for (const tag of [other, 0]) {
    assert.is(
      refusalOf(() => admit(1, 100, tag)).reason,
      'overloaded',
      'neither shared nor counted',
    );
  }
  assert.equal(meter.usage(now()), before);
  assert.is(settle(1, 0, other).allowance?.cyclesRemaining, 900);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 900);
  assert.is(admit(1, 0, other).verdict, 'admitted', 'a call without cycles needs no reservation');
  assert.is(settle(1, 0, other).allowance?.cyclesRemaining, 900);
  assert.is(
    admit(1, 100, mine).allowance?.cyclesRemaining,
    900,
    'retries of its own call share the reservation',
  );
  settle(1, 100, mine);
  assert.is(admit(1, 100, other).allowance?.cyclesRemaining, 800, 'the id is free again');
});

reservation('keeps its tag after a handoff', () => {
  const first = meterUnderTest(custom(100, 1_000));
  first.admit(1, 100, 4_711);
  first.close();
  const { admit, settle } = first.next();
  assert.is(refusalOf(() => admit(1, 100, 4_712)).reason, 'overloaded');
  assert.is(admit(1, 100, 4_711).allowance?.cyclesRemaining, 900);
  settle(1, 0, 4_711);
  assert.is(settle(1, 0, 4_711).allowance?.cyclesRemaining, 1_000);
});

reservation('grows for an attempt that needs more, if the quota allows', () => {
  const { admit, settle } = meterUnderTest(custom(100, 10));
  admit(1, 1);
  assert.is(admit(1, 11).verdict, 'quota_exceeded');
  assert.is(admit(1, 8).allowance?.cyclesRemaining, 2);
  settle(1, 0);
  assert.is(settle(1, 8).allowance?.cyclesRemaining, 2);
});

reservation('is not refunded by an attempt without cycles', () => {
  const { admit, settle } = meterUnderTest(custom(100, 10));
  admit(1, 4);
  admit(1, 0);
  settle(1, 0);
  assert.is(settle(1, 4).allowance?.cyclesRemaining, 6);
});

reservation('that restarts in the next month has no usage of the previous month', () => {
  const { admit, settle, clock, meter, now } = meterUnderTest(custom(100, 10));
  clock.advance(Date.UTC(2026, 1, 1) - clock.wallMs() - 1);
  for (let attempt = 0; attempt < 3; attempt += 1) admit(1, 4);
  settle(1, 3);
  clock.advance(1);
  assert.is(admit(1, 4).allowance?.cyclesRemaining, 6);
  for (let other = 0; other < 3; other += 1) settle(1, 0);
  const usage = meter.usage(now());
  assert.equal([usage?.cyclesUsed, usage?.cyclesReserved], [0, 0]);
});

reservation('is charged as used if it is not settled within 60 s', () => {
  const { admit, settle, clock, meter, now, expired } = meterUnderTest(custom(100, 10));
  admit(1, 4);
  clock.advance(59_999);
  admit(2, 1);
  assert.is(expired(), 0);
  clock.advance(1);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 5, 'the settlement is too late');
  assert.is(expired(), 1);
  const usage = meter.usage(now());
  assert.equal([usage?.cyclesUsed, usage?.cyclesReserved], [4, 1]);
  assert.is(settle(2, 0).allowance?.cyclesRemaining, 6, 'the younger reservation is open');
});

reservation('expires after 60 s, rounded up to the next tenth of a second', () => {
  const { admit, clock, meter, now, expired } = meterUnderTest(custom(100, 10));
  const expiredAfter = (ms: number) => {
    clock.advance(ms);
    meter.usage(now());
    return expired();
  };
  clock.advance(1_050);
  admit(1, 1);
  assert.equal([expiredAfter(60_049), expiredAfter(1)], [0, 1]);
  clock.advance(1);
  admit(2, 1);
  assert.equal([expiredAfter(60_098), expiredAfter(1)], [1, 2]);
});

reservation('expires at its own time, independent of others', () => {
  const { admit, clock, meter, now, expired } = meterUnderTest(custom(100, 10));
  for (const id of [1, 2, 3]) {
    admit(id, 1);
    clock.advance(1_000);
  }
  clock.advance(57_000 - 1);
  for (const before of [0, 1, 2]) {
    meter.usage(now());
    assert.is(expired(), before);
    clock.advance(1);
    meter.usage(now());
    assert.is(expired(), before + 1);
    clock.advance(999);
  }
});

reservation('is in the closing record, in order of age, if it is one of the newest', () => {
  const { admit, clock, meter, now } = meterUnderTest(custom(1_000_000, 1_000_000));
  const admitAt = (stepMs: number, ...ids: number[]) => {
    clock.advance(stepMs);
    for (const id of ids) admit(id);
  };
  const others = Array.from({ length: CLOSING_RESERVATIONS_MAX - 2 }, (_, i) => 1_000 + i);
  admitAt(0, 7);
  admitAt(1_000, 9);
  admitAt(1_000, ...others);
  admitAt(1_000, 8);
  const ids = meter.closing(now())?.reservations.map(({ callId }) => callId) ?? [];
  assert.equal([ids.length, ids[0], ids.at(-1)], [CLOSING_RESERVATIONS_MAX, 9, 8]);
  assert.equal(new Set(ids), new Set([9, ...others, 8]));
});

reservation('that has expired is replaced by a new reservation at the next attempt', () => {
  const { admit, settle, clock } = meterUnderTest(custom(100, 10));
  admit(1, 4);
  clock.advance(60_000);
  assert.is(admit(1, 4).allowance?.cyclesRemaining, 2);
  assert.is(settle(1, 0).allowance?.cyclesRemaining, 6);
});

reservation('beyond the maximum is refused at no cost', () => {
  const { admit, settle, meter, now } = meterUnderTest(custom(1_000_000, 1_000_000));
  for (let id = 1; id <= RESERVATIONS_MAX; id += 1) admit(id);
  const before = meter.usage(now());
  assert.is(refusalOf(() => admit(RESERVATIONS_MAX + 1)).code, 'service_unavailable');
  assert.equal(meter.usage(now()), before);
  assert.is(admit(1).verdict, 'admitted', 'an open reservation can be retried');
  assert.is(admit(0, 0).verdict, 'admitted', 'a call without cycles needs no reservation');
  settle(2, 1);
  assert.is(admit(RESERVATIONS_MAX + 1).verdict, 'admitted');
});

/** Returns the fault that `action` throws. */
function refusalOf(action: () => unknown): Fault {
  try {
    action();
  } catch (refusal) {
    if (refusal instanceof Fault) return refusal;
    throw refusal;
  }
  throw new Error('the action was not refused');
}

reservation.run();
