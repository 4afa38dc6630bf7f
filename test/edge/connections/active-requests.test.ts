import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { buildApp } from '#edge/app';
import type { LimiterAnswer } from '#grpc/limiter-messages';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { TEST_ORIGIN } from '#test/support/test-logger';

/** Maximum complete requests without an answer. */
const ACTIVE_MAX = 8_192;

/** An edge whose limiter answers when the test calls `letGo`. */
function scene() {
  const answers = Promise.withResolvers<LimiterAnswer>();
  let asked = 0;
  const app = buildApp(
    { clusterSecrets: unchanging(['x'.repeat(16)]), trustedProxies: [], drainMs: 0 },
    {
      engine: { ask: () => Promise.reject(new Error('no request reaches the engine')) },
      limiter: {
        ask() {
          asked += 1;
          return answers.promise;
        },
      },
      clock: systemClock,
      randomness: systemRandomness,
      metrics: createMetrics(),
      logger: createLogger('silent', TEST_ORIGIN),
    },
  );
  const authorization = `Bearer ${formatApiKey('Acc0unt00001', 's'.repeat(32))}`;
  const call = async (url: string, headers: Record<string, string> = { authorization }) =>
    (await app.inject({ method: 'GET', url, headers })).statusCode;
  const letGo = () => answers.resolve({ verdict: 'unknown_key', allowance: undefined });
  return { app, call, letGo, askedTimes: () => asked };
}

/** Waits until the limiter has received `count` calls. */
async function until(askedTimes: () => number, count: number): Promise<void> {
  while (askedTimes() < count) await new Promise(setImmediate);
}

/** Status if the call was answered without the limiter; undefined if the limiter was asked. */
async function unasked(
  answer: Promise<number>,
  askedTimes: () => number,
): Promise<number | undefined> {
  let status: number | undefined;
  answer.then((code) => {
    status = code;
  }, assert.unreachable);
  while (status === undefined && askedTimes() === ACTIVE_MAX) await new Promise(setImmediate);
  return status;
}

const many = suite('when 8,192 complete requests are unanswered');

for (const [what, url] of [
  ['a known', '/v1/instances'],
  ['an unknown', '/v1/nowhere'],
] as const) {
  many(
    `the next request to ${what} path is refused, and earlier requests are not refused`,
    async () => {
      const { app, call, letGo, askedTimes } = scene();
      const calls = Array.from({ length: ACTIVE_MAX - 1 }, () => call('/v1/instances'));
      await until(askedTimes, ACTIVE_MAX - 1);
      calls.push(call(url));
      await until(askedTimes, ACTIVE_MAX);
      assert.is(await unasked(call(url), askedTimes), 503);
      assert.is(await unasked(call('/v1/personas'), askedTimes), 503);
      assert.is(askedTimes(), ACTIVE_MAX, 'the limiter must not be asked about refused requests');
      letGo();
      assert.equal(new Set(await Promise.all(calls)), new Set([401]));
      assert.is(await call(url), 401);
      await app.close();
    },
  );
}

many('a request without a key gets 401 and uses no slot', async () => {
  const { app, call, letGo, askedTimes } = scene();
  const calls = Array.from({ length: ACTIVE_MAX }, () => call('/v1/instances'));
  await until(askedTimes, ACTIVE_MAX);
  assert.is(await call('/v1/instances', {}), 401);
  letGo();
  await Promise.all(calls);
  await app.close();
});

const spelling = suite('without a key');

for (const url of ['/%761/instances', '/v%31/instances/x', '/%76%31/nowhere']) {
  spelling(`${url} is 401, because it decodes to a path of the API`, async () => {
    const { app, call } = scene();
    const status = await call(url, {});
    await app.close();
    assert.is(status, 401);
  });
}

for (const each of [many, spelling]) each.run();
