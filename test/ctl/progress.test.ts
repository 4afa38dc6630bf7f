import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Progress, percentOf } from '#ctl/printed-text';
import { ManualClock } from '#test/support/manual-clock';

const progress = suite('the progress of long work');

progress('is printed every two seconds, but not for short work', () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const work = new Progress(clock, (line) => void lines.push(line));
  for (let step = 0; step < 25; step += 1) {
    work.at(() => `step ${step}`);
    clock.advance(200);
  }
  assert.equal(lines, ['step 10', 'step 20']);
});

progress('has a whole number of per cent, and 100 only at the end', () => {
  assert.is(percentOf(0, 7), 0);
  assert.is(percentOf(199, 200), 99);
  assert.is(percentOf(200, 200), 100);
  assert.is(percentOf(0, 0), 100);
});

progress.run();
