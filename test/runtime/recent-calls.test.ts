import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RECENT_CALLS_AGE_MS, RECENT_CALLS_MAX } from '#runtime/bounds';
import { RecentCalls } from '#runtime/recent-calls';

const WALL_MS = Date.UTC(2026, 0, 15, 12);

/** What an actor knew, by its list, when another process gets it `laterMs` later by its own clock. */
function restored(known: RecentCalls, atMs: number, laterMs: number): RecentCalls {
  const list = known.list({ monotonicMs: atMs, wallMs: WALL_MS + atMs });
  const calls = new RecentCalls();
  calls.restore(list, { monotonicMs: 5, wallMs: WALL_MS + atMs + laterMs });
  return calls;
}

const present = suite('a committed call');

present('is known with its version for 20 s', () => {
  const calls = new RecentCalls();
  calls.add(7, 3, 1_000);
  assert.is(calls.versionOf(7, 1_000 + RECENT_CALLS_AGE_MS), 3);
  assert.is(calls.versionOf(8, 1_000), undefined);
  assert.is(calls.versionOf(7, 1_001 + RECENT_CALLS_AGE_MS), undefined);
  assert.is(calls.size, 0);
});

present('with id 0 is nobody’s', () => {
  const calls = new RecentCalls();
  calls.add(0, 3, 0);
  assert.is(calls.versionOf(0, 0), undefined);
});

present('stays known while many others are forgotten', () => {
  const calls = new RecentCalls();
  for (let id = 1; id <= 1_000; id += 1) calls.add(id, id, id * 100);
  const nowMs = 100_000;
  assert.is(calls.versionOf(1_000, nowMs), 1_000);
  assert.is(calls.versionOf(800, nowMs), 800);
  assert.is(calls.versionOf(799, nowMs), undefined);
  assert.is(calls.size, 201);
});

const full = suite('an actor that remembers 4,096 calls');

full('takes no further one until some are too old', () => {
  const calls = new RecentCalls();
  for (let id = 1; id <= RECENT_CALLS_MAX; id += 1) {
    calls.assertRoom();
    calls.add(id, id, 0);
  }
  assert.throws(() => calls.assertRoom(), /use batches/);
  calls.versionOf(1, RECENT_CALLS_AGE_MS + 1);
  calls.assertRoom();
});

const elsewhere = suite('calls that were committed elsewhere');

elsewhere('are known for 20 s from their coming on', () => {
  const known = new RecentCalls();
  known.add(7, 3, 0);
  const calls = restored(known, 10_000, 1_000);
  assert.is(calls.versionOf(7, 5 + RECENT_CALLS_AGE_MS), 3);
  assert.is(calls.versionOf(7, 6 + RECENT_CALLS_AGE_MS), undefined);
});

elsewhere('are known although the clocks of the two machines differ by an hour', () => {
  for (const laterMs of [-3_600_000, 3_600_000]) {
    const known = new RecentCalls();
    known.add(7, 3, 0);
    known.add(8, 4, 19_000);
    const calls = restored(known, 20_000, laterMs);
    assert.equal([calls.versionOf(7, 5), calls.versionOf(8, 5)], [3, 4]);
  }
});

elsewhere('are not known when they are much older than the newest, or of another day', () => {
  const calls = new RecentCalls();
  const call = (callId: number, atMs: number) => ({ callId, version: callId, atMs });
  calls.restore([call(1, 0), call(2, 100_000)], { monotonicMs: 0, wallMs: 100_000 });
  assert.equal([calls.versionOf(1, 0), calls.versionOf(2, 0)], [undefined, 2]);
  const late = new RecentCalls();
  late.restore([call(1, 0)], { monotonicMs: 0, wallMs: 25 * 60 * 60 * 1_000 });
  assert.is(late.size, 0);
});

for (const suite of [present, full, elsewhere]) suite.run();
