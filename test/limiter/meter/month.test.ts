import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { custom, meterUnderTest } from '#test/limiter/limiter-fixture';

const FEBRUARY_MS = Date.UTC(2026, 1, 1);

/** A meter with 1,000 cycles per month. `cycles` returns the cycles in its usage report. */
function monthUnderTest(earlier?: ReturnType<typeof meterUnderTest>) {
  const fixture = earlier?.next() ?? meterUnderTest(custom(1_000, 1_000));
  const { meter, now, clock } = fixture;
  return {
    ...fixture,
    cycles() {
      const usage = meter.usage(now());
      return {
        used: usage?.cyclesUsed,
        reserved: usage?.cyclesReserved,
        expired: usage?.cyclesExpired,
        lost: usage?.cyclesLost,
      };
    },
    /** Advances the clock to `leftMs` before the end of the month (negative: after the end). */
    toEnd: (leftMs: number) => clock.advance(FEBRUARY_MS - leftMs - clock.wallMs()),
  };
}

const turn = suite('a month that ends');

turn('carries no used, expired or lost cycles into the next month', () => {
  const first = meterUnderTest(custom(1_000, 1_000));
  first.admit(1, 4);
  first.clock.advance(60_000);
  first.admit(2, 5);
  const { cycles, toEnd, admit } = monthUnderTest(first);
  const before = cycles();
  assert.ok((before.expired ?? 0) > 0 && (before.lost ?? 0) > 0, JSON.stringify(before));
  toEnd(0);
  assert.equal(cycles(), { used: 0, reserved: 0, expired: 0, lost: 0 });
  admit(3, 5);
  assert.equal(cycles(), { used: 0, reserved: 5, expired: 0, lost: 0 });
});

turn("keeps unsettled reservations out of the next month's usage", () => {
  const { admit, cycles, toEnd, clock, losses } = monthUnderTest();
  toEnd(1);
  admit(1, 5);
  clock.advance(60_001);
  assert.equal(cycles(), { used: 0, reserved: 0, expired: 0, lost: 0 });
  assert.equal(losses, [{ cause: 'expired', cycles: 5 }]);
});

turn('during a takeover causes no loss in the new month', () => {
  const first = meterUnderTest(custom(1_000, 1_000));
  first.admit(1, 5);
  first.clock.advance(FEBRUARY_MS - first.clock.wallMs());
  const { cycles, losses } = monthUnderTest(first);
  assert.equal(cycles(), { used: 0, reserved: 0, expired: 0, lost: 0 });
  assert.equal(losses, []);
});

const shared = suite('a reservation shared by several attempts');

shared('expires with the cycles that no attempt used', () => {
  const { admit, settle, cycles, clock, losses } = monthUnderTest();
  admit(1, 5);
  admit(1, 5);
  settle(1, 3);
  clock.advance(60_000);
  assert.equal(cycles(), { used: 5, reserved: 0, expired: 2, lost: 0 });
  assert.equal(losses, [{ cause: 'expired', cycles: 2 }]);
});

shared('keeps the used amount when it grows', () => {
  const { admit, settle, cycles } = monthUnderTest();
  admit(1, 4);
  admit(1, 4);
  settle(1, 3);
  admit(1, 8);
  settle(1, 0);
  assert.equal(cycles(), { used: 0, reserved: 8, expired: 0, lost: 0 });
  settle(1, 0);
  assert.equal(cycles(), { used: 3, reserved: 0, expired: 0, lost: 0 });
});

const handoff = suite('a month after a handoff');

handoff("has the previous month's reservations, but does not count them", () => {
  const first = monthUnderTest();
  first.toEnd(1);
  first.admit(1, 5);
  first.clock.advance(1);
  first.admit(2, 3);
  first.close();
  const { cycles, settle, losses } = monthUnderTest(first);
  assert.equal(cycles(), { used: 0, reserved: 3, expired: 0, lost: 0 });
  settle(1, 0);
  settle(2, 2);
  assert.equal(cycles(), { used: 2, reserved: 0, expired: 0, lost: 0 });
  assert.equal(losses, []);
});

handoff('lets reservations expire no earlier because of a fraction of a millisecond', () => {
  const first = meterUnderTest(custom(1_000, 1_000));
  first.admit(1, 5);
  first.clock.stepWall(0.4);
  first.close();
  const { cycles, clock } = monthUnderTest(first);
  assert.is(cycles().reserved, 5);
  clock.advance(59_999);
  assert.is(cycles().reserved, 5);
  clock.advance(1);
  assert.is(cycles().reserved, 0);
});

handoff(
  'is recorded again after a settlement with usage, but not after a settlement without usage',
  () => {
    const { admit, settle, close, journal } = monthUnderTest();
    admit(1, 4);
    admit(1, 4);
    close();
    const recorded = journal.heads.length;
    settle(2, 0);
    close();
    assert.is(journal.heads.length, recorded);
    settle(1, 3);
    close();
    assert.is(journal.heads.length, recorded + 1);
    const [open] = journal.head?.reservations ?? [];
    assert.equal([open?.used, open?.callsOpen, open?.cycles], [3, 1, 4]);
  },
);

for (const each of [turn, shared, handoff]) each.run();
