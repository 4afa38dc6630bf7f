import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  CREATE,
  instancesUnderTest,
  observed,
  process,
  seen,
} from '#test/engine/instance/instance-fixture';

/** A call after a pause. */
type Step = {
  readonly pauseMs: number;
  readonly count: number;
  /**
   * Milliseconds between the caller's timestamp and the present (negative: the timestamp is in the
   * future). Undefined if the call has no timestamp.
   */
  readonly behindMs: number | undefined;
  /** Whether the actor is evicted before the call. */
  readonly isReloaded: boolean;
};

const step: fc.Arbitrary<Step> = fc.record({
  pauseMs: fc.oneof(fc.constant(1_000), fc.integer({ min: 0, max: 5_000 }), fc.constant(150_000)),
  count: fc.oneof(fc.constant(1), fc.constant(100), fc.integer({ min: 1, max: 100 })),
  behindMs: fc.option(fc.integer({ min: -300_000, max: 300_000 }), { nil: undefined, freq: 5 }),
  isReloaded: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const steps = fc.array(step, { minLength: 1, maxLength: 20 });

const batchOf = (count: number) => process(...Array.from({ length: count }, () => seen()));

const lead = suite('the times that the engine assigns');

lead('are ahead of the clock by at most the length of the batch', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const { ask, read, clock, evict } = instancesUnderTest();
      await ask(CREATE);
      for (const { pauseMs, count, behindMs, isReloaded } of all) {
        if (isReloaded) await evict();
        clock.advance(pauseMs);
        const ownMs = behindMs === undefined ? undefined : clock.wallMs() - behindMs;
        const command = ownMs === undefined ? batchOf(count) : observed({ timestampMs: ownMs });
        const { cycles } = await ask(command);
        if (cycles === 0 || ownMs !== undefined) continue;
        const page = { limit: 1, offset: 0, isEveryGeneration: false };
        const { data } = await read({ kind: 'readHistory', ...page });
        const leadMs = Date.parse(data[0].timestamp) - clock.wallMs();
        assert.ok(leadMs <= count * 1_000, `${leadMs} ms ahead after ${count}`);
      }
    }),
    { numRuns: 60 },
  );
});

lead('limit full batches every second to about one observation per second', async () => {
  const { ask, clock } = instancesUnderTest();
  await ask(CREATE);
  let processed = 0;
  for (let second = 0; second < 1_000; second += 1) {
    clock.advance(1_000);
    processed += (await ask(batchOf(100))).cycles;
  }
  // One observation per second (interface 8.3). The first batch reaches into the past.
  assert.ok(processed <= 1_000 + 200, `${processed} in 1,000 s`);
});

const steppedBack = suite('an instance whose clock stepped back an hour');

steppedBack('accepts an observation per second', async () => {
  const { ask, clock } = instancesUnderTest();
  await ask(CREATE);
  await ask(observed());
  clock.stepWall(-3_600_000);
  for (let second = 0; second < 10; second += 1) {
    clock.advance(1_000);
    assert.is((await ask(observed())).cycles, 1);
  }
});

steppedBack('accepts an observation per second, even after a handoff', async () => {
  const { ask, clock, evict } = instancesUnderTest();
  await ask(CREATE);
  await ask(observed());
  await evict();
  clock.stepWall(-3_600_000);
  for (let second = 0; second < 10; second += 1) {
    clock.advance(1_000);
    assert.is((await ask(observed())).cycles, 1);
  }
});

steppedBack('waits for the last time that the engine assigned to a batch', async () => {
  const { ask, clock } = instancesUnderTest();
  await ask(CREATE);
  await ask(observed());
  clock.advance(1_000);
  assert.is((await ask(batchOf(10))).cycles, 10);
  clock.stepWall(-3_600_000);
  clock.advance(9_999);
  assert.is((await ask(observed())).throttledRetryAfterS, 1);
  clock.advance(1);
  assert.is((await ask(observed())).cycles, 1);
});

for (const group of [lead, steppedBack]) group.run();
