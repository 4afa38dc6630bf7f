import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { buildApp } from '#edge/app';
import { Fault } from '#errors/fault';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { LASTING_ALLOWANCE } from '#test/edge/admission/lasting-allowance';
import { TEST_ORIGIN } from '#test/support/test-logger';

const KEY = formatApiKey('Acc0unt00001', 's'.repeat(32));

type Line = ReturnType<typeof JSON.parse>;

/** Makes calls that fail with `fail` at the engine. Returns all log lines and answers. */
async function failing(calls: number, fail: () => Error) {
  const log: Line[] = [];
  const write = (line: string) => void log.push(JSON.parse(line));
  const ports = {
    engine: {
      ask: async () => {
        throw fail();
      },
    },
    limiter: { ask: async () => ({ verdict: 'admitted', allowance: LASTING_ALLOWANCE }) as const },
    clock: { ...systemClock, monotonicMs: () => 1_000 },
    randomness: systemRandomness,
    metrics: createMetrics(),
    logger: createLogger('info', TEST_ORIGIN, { write }),
  };
  const app = buildApp(
    { clusterSecrets: unchanging(['x'.repeat(16)]), trustedProxies: [], drainMs: 0 },
    ports,
  );
  const headers = { authorization: `Bearer ${KEY}`, 'x-request-id': 'find-me-again' };
  let text = '';
  for (let call = 0; call < calls; call += 1) {
    const answer = await app.inject({ url: '/v1/instances', headers });
    text += `${answer.statusCode} ${JSON.stringify(answer.headers)} ${answer.body}\n`;
  }
  await app.close();
  return { log, text };
}

function bug(): Error {
  const root = new RangeError(`the root of ${KEY}`);
  return new TypeError('the bug', { cause: new Error('the middle', { cause: root }) });
}

const logged = suite('the cause of a failed call');

logged('with 500 is logged with all causes and stacks, and is not in the answer', async () => {
  const { log, text } = await failing(1, bug);
  assert.is(log.length, 1);
  const { err, requestId, status, level } = log[0];
  assert.equal([requestId, status, level], ['find-me-again', 500, 'error']);
  const chain = [err, err.cause, err.cause.cause, err.cause.cause.cause];
  assert.equal(
    chain.map(({ type }) => type),
    ['Fault', 'TypeError', 'Error', 'RangeError'],
  );
  for (const each of chain) assert.match(each.stack, /\n +at .*\.ts:\d+/);
  assert.is(chain[3].message, 'the root of [redacted]');
  assert.match(text, /^500 .*"internal"/);
  assert.not.match(text, /the bug|middle|root|\.ts|stack|cause|svc_sk_/);
});

logged('with 503 is logged with all causes and stacks, and is not in the answer', async () => {
  const { log, text } = await failing(1, () => {
    return new Fault('service_unavailable', 'not now', { cause: bug() });
  });
  const { err, status, level } = log[0];
  assert.equal([status, level, err.code], [503, 'warn', 'service_unavailable']);
  assert.is(err.cause.cause.cause.type, 'RangeError');
  assert.match(err.cause.cause.cause.stack, /\n +at .*\.ts:\d+/);
  assert.match(text, /^503 .*"not now"/);
  assert.not.match(text, /the bug|middle|root|\.ts|stack|cause|svc_sk_/);
});

// Report 34: An outage wrote a chain of stacks for each of 100 refusals a second, 1 GB an hour.
logged('with 503 in a flood is logged 20 times a second, and once with its stacks', async () => {
  const { log } = await failing(120, () => {
    return new Fault('service_unavailable', 'not now', { cause: new Error('the store is away') });
  });
  assert.is(log.length, 20);
  assert.is(log.filter(({ err }) => err !== undefined).length, 1);
  for (const line of log) assert.equal([line.msg, line.status], ['not now', 503]);
  // A line without causes contains the root cause's text.
  for (const line of log.slice(1)) assert.is(line.why, 'the store is away');
});

logged('with 500 in a flood is logged each time, and once a second with its stacks', async () => {
  const { log } = await failing(30, bug);
  assert.is(log.length, 30);
  assert.is(log.filter(({ err }) => err !== undefined).length, 1);
  assert.is(log.at(-1)?.why, 'the root of [redacted]');
});

// Report 34: Lines about failed calls lacked the route, and no line named its process and release.
logged('is logged with route, method, account and the fields of its process', async () => {
  const { log } = await failing(1, bug);
  const { route, method, accountId, role, node, release } = log[0];
  assert.equal([route, method, accountId], ['/instances', 'GET', 'Acc0unt00001']);
  assert.equal([role, node, release], ['test', 'test-1', '0.0.0']);
});

logged.run();
