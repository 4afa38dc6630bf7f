import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limitsOf } from '#accounts/plan';
import { WINDOW_MS } from '#accounts/quota-windows';
import { Fault } from '#errors/fault';
import { beginUnrecorded, endUnrecorded, UnrecordedReads } from '#limiter/meter/unrecorded-reads';
import { UNRECORDED_SHARE } from '#limiter/quota-bounds';
import { instantOf } from '#stdlib/clock';
import { admission, custom, meterUnderTest } from '#test/limiter/limiter-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';

const PLAN = 100;
const SHARE = PLAN * UNRECORDED_SHARE;

const LIMITS = limitsOf(custom(PLAN, 1));

const newMeter = () => meterUnderTest(custom(PLAN, 1_000));

const held = suite('a meter that cannot record');

held('grants reads immediately, up to the unrecorded share of each window', () => {
  const { log, read, dependsOn, journal, clock } = newMeter();
  log.isHeldUp = true;
  for (let window = 0; window < 3; window += 1) {
    for (let at = 1; at <= SHARE; at += 1) {
      const { verdict, allowance } = read(window * PLAN + at);
      assert.is(verdict, 'admitted');
      assert.is(allowance?.requestsRemaining, PLAN - at);
      assert.is(dependsOn(), 0);
    }
    assert.throws(() => read(window * PLAN + SHARE + 1), isUnavailable);
    clock.advance(WINDOW_MS);
  }
  assert.is(journal.heads.length, 0);
});

held('grants no writes, and counts nothing', async () => {
  const { log, admit, meter, now } = newMeter();
  log.isHeldUp = true;
  for (const cycles of [0, 1]) {
    assert.instance(await refusalOf(() => admit(1, cycles)), Fault);
  }
  assert.is(meter.usage(now())?.requestsInWindow, 0);
});

held('records its grants later', () => {
  const { log, read, journal } = newMeter();
  log.isHeldUp = true;
  for (let at = 1; at <= SHARE; at += 1) read(at);
  log.isHeldUp = false;
  read(SHARE + 1);
  assert.ok((journal.head?.windowWatermark ?? 0) > SHARE);
});

held('makes no grants that the next process could not detect', () => {
  const clock = new ManualClock();
  const reads = new UnrecordedReads(false, false, clock.monotonicMs());
  reads.recordTo({ isHeldUp: true }, clock.monotonicMs());
  const read = admission(1, 0, undefined, 'read');
  assert.not(reads.grant(read, 0, LIMITS, instantOf(clock)));
});

const after = suite('the windows of a meter after a crash');

after('start with the whole share counted as granted, for a minute', () => {
  const { read, clock } = newMeter().next(undefined, true);
  clock.advance(WINDOW_MS - 1);
  assert.is(read(1).allowance?.requestsRemaining, PLAN - SHARE - 1);
  clock.advance(WINDOW_MS);
  assert.is(read(2).allowance?.requestsRemaining, PLAN - 1);
});

after('continue with the recorded amount plus the share', () => {
  const first = newMeter();
  first.read(1);
  const watermark = first.journal.head?.windowWatermark ?? 0;
  const second = first.next(undefined, true);
  assert.is(second.read(2).allowance?.requestsRemaining, PLAN - watermark - SHARE - 1);
});

after('grant nothing more if the recorded amount and the share together reach the plan', () => {
  const first = newMeter();
  for (let at = 1; at <= 80; at += 1) first.read(at);
  const second = first.next(undefined, true);
  const { verdict, allowance } = second.read(100);
  assert.equal([verdict, allowance?.requestsRemaining], ['rate_limited', 0]);
});

after('count the share once, even after several crashes in a minute', () => {
  let meter = newMeter();
  meter.read(1);
  for (let crash = 1; crash <= 3; crash += 1) {
    meter = meter.next(undefined, true);
    meter.read(crash * 10);
  }
  const requests = meter.meter.usage(meter.now())?.requestsInWindow ?? PLAN;
  // Each crash also counts all requests up to the watermark as used.
  assert.ok(requests < PLAN, `${requests} requests`);
  assert.is(meter.journal.head?.unrecorded, SHARE);
});

after('leave no share for grants without a record', () => {
  const { read, log } = newMeter().next(undefined, true);
  log.isHeldUp = true;
  assert.throws(() => read(1), isUnavailable);
});

const flag = suite('the dirty flag in a file');

/** A flag in memory. */
function newFlag() {
  const flag = { isSet: false, isWritable: true };
  const assertWritable = () => {
    if (!flag.isWritable) throw new Fault('service_unavailable', 'the flag cannot be written');
  };
  return {
    flag,
    async set() {
      assertWritable();
      const wasSet = flag.isSet;
      flag.isSet = true;
      return wasSet;
    },
    async clear() {
      assertWritable();
      flag.isSet = false;
    },
  };
}

flag('is cleared by a normal shutdown, so a set flag reveals a crash', async () => {
  const [clock, store] = [new ManualClock(), newFlag()];
  const first = await beginUnrecorded(store, clock);
  assert.is(first.forgotten(LIMITS, instantOf(clock)), 0);
  await endUnrecorded(first, store, clock);
  const second = await beginUnrecorded(store, clock);
  assert.is(second.forgotten(LIMITS, instantOf(clock)), 0);
  const third = await beginUnrecorded(store, clock);
  assert.is(third.forgotten(LIMITS, instantOf(clock)), SHARE);
});

flag('stays set for a minute after a crash or a grant', async () => {
  const [clock, store] = [new ManualClock(), newFlag()];
  store.flag.isSet = true;
  const reads = await beginUnrecorded(store, clock);
  clock.advance(WINDOW_MS - 1);
  await endUnrecorded(reads, store, clock);
  assert.ok(store.flag.isSet);
  clock.advance(1);
  reads.recordTo({ isHeldUp: true }, clock.monotonicMs());
  assert.ok(reads.grant(admission(1, 0, undefined, 'read'), 0, LIMITS, instantOf(clock)));
  await endUnrecorded(reads, store, clock);
  assert.ok(store.flag.isSet);
  clock.advance(WINDOW_MS);
  await endUnrecorded(reads, store, clock);
  assert.not(store.flag.isSet);
});

flag(
  'prevents grants if it cannot be set, and the share is counted for unknown earlier grants',
  async () => {
    const [clock, store] = [new ManualClock(), newFlag()];
    store.flag.isWritable = false;
    const reads = await beginUnrecorded(store, clock);
    reads.recordTo({ isHeldUp: true }, clock.monotonicMs());
    assert.not(reads.grant(admission(1, 0, undefined, 'read'), 0, LIMITS, instantOf(clock)));
    assert.is(reads.forgotten(LIMITS, instantOf(clock)), SHARE);
    clock.advance(WINDOW_MS);
    await endUnrecorded(reads, store, clock);
  },
);

flag('is not needed to detect grants of an earlier incarnation in the same process', async () => {
  const clock = new ManualClock();
  const reads = await beginUnrecorded(newFlag(), clock);
  for (const isHeldUp of [false, true]) {
    reads.recordTo({ isHeldUp }, clock.monotonicMs());
    assert.is(reads.forgotten(LIMITS, instantOf(clock)), 0, 'no grants were made');
  }
  reads.grant(admission(1, 0, undefined, 'read'), 0, LIMITS, instantOf(clock));
  clock.advance(WINDOW_MS - 1);
  reads.recordTo({ isHeldUp: false }, clock.monotonicMs());
  assert.is(reads.forgotten(LIMITS, instantOf(clock)), SHARE);
});

function isUnavailable(error: unknown): boolean {
  return error instanceof Fault && error.code === 'service_unavailable';
}

for (const group of [held, after, flag]) group.run();
