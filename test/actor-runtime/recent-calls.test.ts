import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RecentCalls } from '#actor-runtime/activation';
import { RECENT_CALLS_AGE_MS, RECENT_CALLS_MAX } from '#actor-runtime/actor-bounds';
import type { Fault } from '#errors/fault';
import { liveHeapBytes } from '#test/support/garbage';

const WALL_MS = Date.UTC(2026, 0, 15, 12);

/** Number of calls of a long-lived actor, which remembers at most 20 s of calls. */
const CALLS = 100_000;

/** Calls that another process restores. The wall clock of that process is `laterMs` ahead. */
function restored(known: RecentCalls, atMs: number, laterMs: number): RecentCalls {
  const list = known.list({ monotonicMs: atMs, wallMs: WALL_MS + atMs });
  const calls = new RecentCalls();
  calls.restore(list, { monotonicMs: 5, wallMs: WALL_MS + atMs + laterMs });
  return calls;
}

const present = suite('a committed call');

present('is recognised with its version for 20 s', () => {
  const calls = new RecentCalls();
  calls.add(7, 3, 1_000);
  assert.is(calls.versionOf(7, 1_000 + RECENT_CALLS_AGE_MS), 3);
  assert.is(calls.versionOf(8, 1_000), undefined);
  assert.is(calls.versionOf(7, 1_001 + RECENT_CALLS_AGE_MS), undefined);
  assert.is(calls.size, 0);
});

present('with id 0 is never recognised', () => {
  const calls = new RecentCalls();
  calls.add(0, 3, 0);
  assert.is(calls.versionOf(0, 0), undefined);
  assert.is(calls.size, 0);
});

present('is listed with its version and the wall-clock time at which it was committed', () => {
  const calls = new RecentCalls();
  calls.add(6, 2, 500);
  calls.add(7, 3, 1_000);
  calls.add(8, 4, 10_000.4);
  const list = calls.list({ monotonicMs: 1_000 + RECENT_CALLS_AGE_MS, wallMs: WALL_MS });
  assert.equal(list, [
    { callId: 7, version: 3, atMs: WALL_MS - RECENT_CALLS_AGE_MS },
    { callId: 8, version: 4, atMs: WALL_MS - RECENT_CALLS_AGE_MS + 9_000 },
  ]);
});

present('uses no memory after it is forgotten, however many calls follow', () => {
  const calls = new RecentCalls();
  const before = liveHeapBytes();
  for (let id = 1; id <= CALLS; id += 1) {
    calls.versionOf(id, id * 1_000);
    calls.add(id, id, id * 1_000);
  }
  const left = liveHeapBytes() - before;
  assert.is(calls.versionOf(CALLS, CALLS * 1_000), CALLS);
  assert.ok(left < CALLS, `${left} bytes are left after ${CALLS} calls`);
});

present('stays recognised while many others are forgotten', () => {
  const calls = new RecentCalls();
  for (let id = 1; id <= 1_000; id += 1) calls.add(id, id, id * 100);
  const nowMs = 100_000;
  assert.is(calls.versionOf(1_000, nowMs), 1_000);
  assert.is(calls.versionOf(800, nowMs), 800);
  assert.is(calls.versionOf(799, nowMs), undefined);
  assert.is(calls.size, 201);
});

const full = suite('an actor that remembers 4,096 calls');

full('accepts no further call until some calls expire', () => {
  const calls = new RecentCalls();
  for (let id = 1; id <= RECENT_CALLS_MAX; id += 1) {
    calls.assertRoom(0);
    calls.add(id, id, 0);
  }
  assert.throws(
    () => calls.assertRoom(RECENT_CALLS_AGE_MS),
    ({ code, reason, retryAfterS, message }: Fault) =>
      code === 'service_unavailable' &&
      reason === 'overloaded' &&
      retryAfterS === 1 &&
      message.includes('use batches'),
  );
  calls.assertRoom(RECENT_CALLS_AGE_MS + 1);
});

const elsewhere = suite('calls that another process committed');

elsewhere('are recognised for 20 s from their arrival', () => {
  const known = new RecentCalls();
  known.add(7, 3, 0);
  const calls = restored(known, 10_000, 1_000);
  assert.is(calls.versionOf(7, 5 + RECENT_CALLS_AGE_MS), 3);
  assert.is(calls.versionOf(7, 6 + RECENT_CALLS_AGE_MS), undefined);
});

elsewhere('are recognised although the clocks of the two machines differ by an hour', () => {
  for (const laterMs of [-3_600_000, 3_600_000]) {
    const known = new RecentCalls();
    known.add(7, 3, 0);
    known.add(8, 4, 19_000);
    const calls = restored(known, 20_000, laterMs);
    assert.equal([calls.versionOf(7, 5), calls.versionOf(8, 5)], [3, 4]);
  }
});

elsewhere(
  'are not recognised when they are much older than the newest call, or from another day',
  () => {
    const calls = new RecentCalls();
    const call = (callId: number, atMs: number) => ({ callId, version: callId, atMs });
    calls.restore([call(1, 0), call(2, 100_000)], { monotonicMs: 0, wallMs: 100_000 });
    assert.equal([calls.versionOf(1, 0), calls.versionOf(2, 0)], [undefined, 2]);
    const late = new RecentCalls();
    late.restore([call(1, 0)], { monotonicMs: 0, wallMs: 25 * 60 * 60 * 1_000 });
    assert.is(late.size, 0);
  },
);

elsewhere('leave room for new calls, however many calls a long tail contains', () => {
  const calls = new RecentCalls();
  const everyTen = Array.from({ length: 12_000 }, (_, i) => ({
    callId: i + 1,
    version: i + 1,
    atMs: i * 10,
  }));
  calls.restore(everyTen, { monotonicMs: 0, wallMs: 120_000 });
  calls.assertRoom(0);
  assert.is(calls.versionOf(12_000, 0), 12_000);
  assert.is(calls.versionOf(12_000 - 2_000, 0), 10_000, 'all calls of the last 20 s');
});

for (const suite of [present, full, elsewhere]) suite.run();
