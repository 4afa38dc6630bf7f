import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  done,
  observation,
  type Reply,
  refused,
  START_MS,
  sceneOf,
  timesOf,
} from './support/buffer-scene.ts';

const throttled = suite('an observation that is throttled');

const HOUR_S = 3_600;

throttled('is moved by what the answer asks for, from its own time on', async () => {
  // The service's newest is 10 s ago, so it asks for the time from the observation to 1 s after that.
  const asks = HOUR_S - 9;
  const early: Reply = () =>
    done({ observations: [] }, { 'x-throttled': 'true', 'retry-after': `${asks}` });
  const { buffer, clock, sent } = sceneOf({ delayMaxMs: 0 }, early, done);
  await buffer.add('inst_a', observation(1, new Date(START_MS - HOUR_S * 1_000).toISOString()));
  await clock.run(buffer.flush());
  assert.equal(sent.map(timesOf), [[-HOUR_S], [-9]]);
  assert.is(sent[1]?.atMs, 0);
});

const clocks = suite('a calendar that is set back by an hour');

clocks('does not make a batch wait that is to be sent again', async () => {
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

clocks('does not make an account wait whose requests are used up', async () => {
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
  zero(`and status ${status} is answered with a backoff`, async () => {
    const refusal = refused(status, code, {}, { 'retry-after': '0' });
    const { buffer, clock, sent } = sceneOf({ delayMaxMs: 0 }, refusal);
    await buffer.add('inst_a', observation(1));
    await clock.run(buffer.close({ timeoutMs: 10_000 }));
    assert.ok(sent.length > 3 && sent.length < 30, `${sent.length} requests in 10 s`);
  });
}

for (const each of [throttled, clocks, zero]) each.run();
