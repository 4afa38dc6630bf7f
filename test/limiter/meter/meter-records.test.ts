import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { admission, custom, meterUnderTest, record } from '#test/limiter/limiter-fixture';

const FEBRUARY_MS = Date.UTC(2026, 1, 1);

const head = suite('the newest record of a meter');

head('is kept until this record is stored, even if an older record was stored', () => {
  const { admit, meter, journal } = meterUnderTest(custom(1_000, 1_000));
  assert.is(meter.head, undefined);
  admit(1);
  const first = meter.head;
  assert.equal(first, journal.heads.at(-1));
  admit(2, 20);
  assert.equal(meter.head, journal.heads.at(-1));
  meter.forget(first);
  assert.equal(meter.head, journal.heads.at(-1), 'a newer record remains unstored');
  meter.forget(meter.head);
  assert.is(meter.head, undefined);
});

head('is the start of the next activation', () => {
  const first = meterUnderTest(custom(1_000, 1_000));
  first.admit(1);
  const { meter, journal } = first.next();
  assert.equal(meter.head, journal.head);
});

head('is kept until the first turn continues from it, even if stored', () => {
  const first = meterUnderTest(custom(1_000, 1_000));
  first.admit(1, 30);
  first.settle(1, 30);
  const { meter, journal, now } = first.next();
  meter.forget(meter.head);
  assert.equal(meter.head, journal.head);
  assert.ok((meter.usage(now())?.cyclesUsed ?? 0) >= 30, "an earlier owner's grants are counted");
  meter.forget(meter.head);
  assert.is(meter.head, undefined);
});

head('counts the loss of a crash once, even if no call follows', () => {
  const first = meterUnderTest(custom(1_000, 1_000));
  first.admit(1, 30);
  const second = first.next();
  second.close();
  assert.ok(second.losses.length > 0, 'grants of unknown use are lost');
  const third = second.next();
  third.close();
  assert.equal(third.losses, []);
});

const bytes = suite('the counted bytes of a meter');

bytes('include its keys, counted keys and open reservations', () => {
  const { admit, settle, refresh, meter } = meterUnderTest(custom(1_000, 1_000));
  assert.is(meter.bytes, 1_048);
  for (const call of [1, 2, 3]) admit(call);
  assert.is(meter.bytes, 1_048 + 136 + 3 * 160);
  settle(2, 1);
  refresh({ ...record(custom(1_000, 1_000)), keys: [] });
  assert.is(meter.bytes, 880 + 136 + 2 * 160);
});

const closing = suite('a closing record');

closing('lowers both watermarks, so that the next grant needs a new record', () => {
  const { admit, settle, close, journal, dependsOn } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 5);
  settle(1, 3);
  close();
  assert.equal([journal.head?.monthWatermark, journal.head?.windowWatermark], [3, 1]);
  admit(2, 0);
  assert.is(dependsOn(), 3);
  assert.is(journal.head?.monthWatermark, 3, 'a call without cycles does not raise the month');
  assert.ok((journal.head?.windowWatermark ?? 0) >= 2);
});

closing(
  'is also made after a record that lowers a watermark, because the latter is incomplete',
  () => {
    const { admit, settle, close, clock, journal } = meterUnderTest(custom(1_000, 1_000));
    admit(1, 100);
    clock.advance(250);
    settle(1, 1);
    assert.is(journal.heads.length, 2);
    close();
    assert.equal([journal.heads.length, journal.head?.monthWatermark], [3, 1]);
  },
);

closing('belongs to the month that has started meanwhile', () => {
  const { admit, settle, close, clock, journal } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 5);
  settle(1, 5);
  clock.advance(FEBRUARY_MS - clock.wallMs());
  close();
  const { monthEndsAtMs, monthWatermark, cyclesUsed, windowWatermark, windowEndsAtMs } =
    journal.head ?? {};
  assert.equal([monthEndsAtMs, monthWatermark, cyclesUsed], [Date.UTC(2026, 2, 1), 0, 0]);
  assert.equal([windowWatermark, windowEndsAtMs], [0, 0]);
});

closing(
  'is followed by another closing record if a reservation expires in the same activation',
  () => {
    const { admit, close, clock, meter, now, journal } = meterUnderTest(custom(1_000, 1_000));
    admit(1, 5);
    close();
    assert.is(journal.head?.reservations.length, 1);
    clock.advance(60_000);
    meter.usage(now());
    close();
    const { monthWatermark, cyclesUsed, cyclesExpired, reservations } = journal.head ?? {};
    assert.equal([monthWatermark, cyclesUsed, cyclesExpired, reservations], [5, 5, 5, []]);
  },
);

const dependency = suite('an answer');

dependency('without a grant has no durability dependency', () => {
  const { admit, settle, meter, turn, dependsOn } = meterUnderTest(custom(2, 1_000));
  admit(1);
  assert.is(dependsOn(), 1);
  assert.is(settle(1, 0).verdict, 'settled');
  assert.is(dependsOn(), 0);
  admit(2);
  assert.is(dependsOn(), 1);
  assert.is(meter.answer(admission(3, 1, digestOf('other')), turn()).verdict, 'unknown_key');
  assert.is(dependsOn(), 0);
  admit(4);
  assert.is(admit(5).verdict, 'rate_limited');
  assert.is(dependsOn(), 0);
});

dependency('without cycles depends only on the window', () => {
  const { admit, dependsOn } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 0);
  admit(2, 5);
  assert.is(dependsOn(), 2);
  assert.is(admit(3, 0).verdict, 'admitted');
  assert.is(dependsOn(), 1);
  assert.is(admit(4, 1_000).verdict, 'quota_exceeded');
  assert.is(dependsOn(), 1);
});

dependency('that refuses cycles does not raise the watermark of the month', () => {
  const { admit, journal } = meterUnderTest(custom(1_000, 20));
  admit(1, 1);
  assert.is(admit(2, 20).verdict, 'quota_exceeded');
  assert.equal(
    journal.heads.map(({ monthWatermark }) => monthWatermark),
    [18],
  );
});

dependency(
  'without cycles does not raise the watermark of the month, even if this watermark is low',
  () => {
    const { admit, refresh, journal } = meterUnderTest(custom(1_000, 100));
    admit(1, 98);
    assert.is(journal.head?.monthWatermark, 100);
    refresh(record(custom(1_000, 1_000)));
    const before = journal.heads.length;
    admit(2, 0);
    assert.is(journal.heads.length, before);
  },
);

dependency('after a lowered watermark grants only what a new record allows', () => {
  const { admit, settle, clock, journal, dependsOn } = meterUnderTest(custom(1_000, 1_000));
  admit(1, 100);
  clock.advance(250);
  settle(1, 0);
  assert.is(journal.head?.monthWatermark, 18);
  admit(2, 30);
  assert.is(dependsOn(), 3);
  assert.ok((journal.head?.monthWatermark ?? 0) >= 30);
});

const raised = suite('a raise of a watermark');

raised('is reported for each raised watermark', () => {
  const { admit, raises } = meterUnderTest(custom(3, 1_000));
  admit(1, 1);
  assert.equal(raises, [
    ['window', 1],
    ['month', 1],
  ]);
  admit(2, 20);
  assert.equal(raises.slice(2), [['month', 2]], "the window already has the plan's limit");
  const second = meterUnderTest(custom(1_000, 1_000));
  second.admit(1, 0);
  assert.equal(second.raises, [['window', 1]]);
});

const usage = suite('the usage report of a meter');

usage('has all counts, during and between windows', () => {
  const { admit, settle, clock, meter, now } = meterUnderTest(custom(60, 1_000));
  const limits = { requestsPerMinute: 60, cyclesPerMonth: 1_000, instances: 1_000_000 };
  const month = { cyclesLost: 0, cyclesExpired: 0, monthResetAtS: FEBRUARY_MS / 1_000, limits };
  admit(1, 5);
  settle(1, 3);
  admit(2, 4);
  const before = Array<number>(14).fill(0);
  const prefix = digestOf('key').slice(0, 8);
  const used = {
    ...{ ...month, cyclesUsed: 3, cyclesReserved: 4, monthWatermark: 18 },
    cyclesByDay: [...before, 3],
    keys: [{ prefix, cyclesByDay: [...before, 3] }],
    finishedMonths: [],
  };
  assert.equal(meter.usage(now()), {
    ...used,
    requestsInWindow: 2,
    windowResetAtS: clock.wallMs() / 1_000 + 60,
    windowWatermark: 18,
  });
  clock.advance(60_000);
  assert.equal(meter.usage(now()), {
    ...used,
    cyclesUsed: 7,
    cyclesByDay: [...before, 7],
    keys: [{ prefix, cyclesByDay: [...before, 7] }],
    cyclesReserved: 0,
    cyclesExpired: 4,
    requestsInWindow: 0,
    windowResetAtS: undefined,
    windowWatermark: 0,
  });
});

usage('is empty for a deleted account, whose settlements are refused', () => {
  const { admit, settle, refresh, meter, now } = meterUnderTest(custom(60, 1_000));
  admit(1, 5);
  refresh(undefined);
  assert.is(meter.usage(now()), undefined);
  assert.equal(settle(1, 0), { verdict: 'unknown_key', allowance: undefined });
});

for (const each of [head, bytes, closing, dependency, raised, usage]) each.run();
