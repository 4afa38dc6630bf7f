import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ThrottledObservation } from '../src/identity-engine.ts';
import {
  done,
  numbersOf,
  observation,
  type Reply,
  refused,
  START_MS,
  sceneOf,
  timesOf,
} from './support/buffer-scene.ts';

const throttled = suite('a throttled observation');

const HOUR_S = 3_600;

// Report 2: a buffer moved explicit timestamps, so a repeated log was applied twice.
throttled("keeps the caller's timestamp, and is reported", async () => {
  // The first timestamp is an hour old; the service's newest observation is 10 s old. The service
  // accepts timestamps that are at most 9 s old, so `Retry-After` is an hour less 9 s.
  const asks = HOUR_S - 9;
  const early: Reply = () =>
    done({ observations: [] }, { 'x-throttled': 'true', 'retry-after': `${asks}` });
  const seen: ThrottledObservation[] = [];
  const onThrottled = (each: ThrottledObservation) => void seen.push(each);
  const { buffer, clock, sent } = sceneOf({ onThrottled }, early, done);
  const at = (seconds: number) => new Date(START_MS + seconds * 1_000).toISOString();
  for (const [number, s] of [-HOUR_S, -HOUR_S + 60, -9.5, 5].entries()) {
    await buffer.add('inst_a', observation(number, at(s)));
  }
  await buffer.add('inst_a', observation(4));
  await clock.run(buffer.flush());
  assert.equal(sent.map(numbersOf), [
    [0, 1, 2, 3, 4],
    [2, 3, 4],
  ]);
  assert.equal(sent[1] && timesOf(sent[1]), [-9.5, 5, 6]);
  assert.equal(
    seen.map(({ observation: each }) => each.timestamp),
    [at(-HOUR_S), at(-HOUR_S + 60)],
  );
  assert.is(seen[0]?.retryAfterMs, asks * 1_000);
  const { acknowledged, throttled: reported, throttledCount } = await buffer.close();
  assert.equal([acknowledged, reported, throttledCount], [3, seen, 2]);
});

throttled('is moved by the requested delay if the buffer set the timestamp', async () => {
  const early: Reply = () =>
    done({ observations: [] }, { 'x-throttled': 'true', 'retry-after': '7' });
  const { buffer, clock, sent } = sceneOf({ delayMaxMs: 0 }, early, done);
  await buffer.add('inst_a', observation(1));
  await clock.run(buffer.flush());
  assert.equal(sent.map(timesOf), [[0], [7]]);
  assert.is(sent[1]?.atMs, 0);
});

const own = suite('a timestamp of the caller');

// Report 2: a buffer moved explicit timestamps that are less than a second apart.
own('starts a new batch if less than 1 s after the previous timestamp', async () => {
  const { buffer, clock, sent } = sceneOf();
  const at = (seconds: number) => new Date(START_MS + seconds * 1_000).toISOString();
  for (const [number, s] of [0, 1, 1.5, 2.5, 2].entries()) {
    await buffer.add('inst_a', observation(number, at(s)));
  }
  await clock.run(buffer.flush());
  assert.equal(sent.map(timesOf), [[0, 1], [1.5, 2.5], [2]]);
});

const clocks = suite('a wall clock that is set back by an hour');

clocks('does not delay the retry of a batch', async () => {
  const { buffer, clock, sent } = sceneOf(
    { delayMaxMs: 0 },
    refused(503, 'service_unavailable'),
    done,
  );
  await buffer.add('inst_a', observation(1));
  await clock.run(clock.sleep(0));
  assert.is(sent.length, 1);
  clock.step(-3_600_000);
  await clock.run(buffer.flush());
  assert.ok((sent[1]?.steadyMs ?? Number.NaN) <= 5_000, `${sent[1]?.steadyMs}`);
});

clocks('does not extend the pause of a rate-limited account', async () => {
  const limited = refused(429, 'rate_limited', {}, { 'retry-after': '1' });
  const { buffer, clock, sent } = sceneOf({ delayMaxMs: 0 }, limited, done);
  await buffer.add('inst_a', observation(1));
  await clock.run(clock.sleep(0));
  clock.step(-3_600_000);
  await clock.run(buffer.flush());
  assert.ok((sent[1]?.steadyMs ?? Number.NaN) <= 5_000, `${sent[1]?.steadyMs}`);
});

const zero = suite('a refusal with Retry-After: 0');

for (const [status, code] of [
  [503, 'service_unavailable'],
  [429, 'rate_limited'],
] as const) {
  zero(`and status ${status} leads to a backoff`, async () => {
    const refusal = refused(status, code, {}, { 'retry-after': '0' });
    const { buffer, clock, sent } = sceneOf({ delayMaxMs: 0 }, refusal);
    await buffer.add('inst_a', observation(1));
    await clock.run(buffer.close({ timeoutMs: 10_000 }));
    assert.ok(sent.length > 3 && sent.length < 30, `${sent.length} requests in 10 s`);
  });
}

for (const each of [throttled, own, clocks, zero]) each.run();
