import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeReplay, STRANGER_MS_MAX } from '#bus/replay-guard';

const NOW_MS = 1_800_000_000_000;

const judge = (lastSequence: number | undefined, sequence: number, offMs = 0): string =>
  judgeReplay({ lastSequence, sequence, sentAtMs: NOW_MS + offMs }, NOW_MS);

const known = suite('a known sender');

known('is accepted with every larger sequence number and no other', () => {
  assert.is(judge(7, 8), 'new');
  assert.is(judge(7, 1_000), 'new');
  assert.is(judge(7, 7), 'repeated');
  assert.is(judge(7, 6), 'repeated');
});

known('is accepted when its clock steps by years', () => {
  for (const offMs of [-1, 1]) assert.is(judge(7, 8, offMs * 10 * 365 * 86_400_000), 'new');
});

const stranger = suite('a sender that is not known yet');

stranger('is accepted when its clock is within a minute of this clock', () => {
  for (const offMs of [0, -STRANGER_MS_MAX, STRANGER_MS_MAX]) {
    assert.is(judge(undefined, 1, offMs), 'new');
  }
  for (const offMs of [-STRANGER_MS_MAX - 1, STRANGER_MS_MAX + 1]) {
    assert.is(judge(undefined, 1, offMs), 'stale');
  }
});

for (const each of [known, stranger]) each.run();
