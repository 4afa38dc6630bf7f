import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { instantOf } from '#stdlib/clock';
import { ManualClock } from '#test/support/manual-clock';

const both = suite('an instant from a clock');

both('has the time of both clocks, despite steps of the wall clock', () => {
  const clock = new ManualClock(1_790_000_000_000);
  const before = instantOf(clock);
  clock.advance(250);
  clock.stepWall(-3_600_000);
  const after = instantOf(clock);
  assert.is(before.wallMs, 1_790_000_000_000);
  assert.is(after.wallMs - before.wallMs, 250 - 3_600_000);
  assert.is(after.monotonicMs - before.monotonicMs, 250);
});

both.run();
