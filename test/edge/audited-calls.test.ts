import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { buildApp } from '#edge/app';
import { Fault, faultFor } from '#errors/fault';
import type { EngineAnswer, EngineCall } from '#grpc/engine-messages';
import type { AccountCall, LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { ALLOWANCE } from '#test/edge/admission/admission-fixture';
import { TEST_ORIGIN } from '#test/support/test-logger';

const KEY = formatApiKey('Acc0unt00001', 's'.repeat(32));
const ID = 'inst_00000000000000aa';

/** An edge whose limiter handles audit lines with `trail`. */
async function edgeWith(trail: (call: AccountCall) => Promise<LimiterAnswer>, isThere = true) {
  const asked: EngineCall[] = [];
  const lines: AccountCall[] = [];
  const limiter = {
    ask: async (call: LimiterCall): Promise<LimiterAnswer> => {
      if (call.kind !== 'account') return { verdict: 'admitted', allowance: ALLOWANCE };
      lines.push(call);
      return await trail(call);
    },
  };
  const engine = {
    ask: async (call: EngineCall) => {
      // Every instance exists for reads, but not for writes.
      if (call.command.kind === 'readInstance' && isThere) return THERE;
      asked.push(call);
      throw new Fault('not_found', 'no such instance');
    },
  };
  const app = buildApp(
    { clusterSecrets: unchanging(['x'.repeat(16)]), trustedProxies: [], drainMs: 0 },
    {
      ...{ engine, limiter, clock: systemClock, randomness: systemRandomness },
      ...{ metrics: createMetrics(), logger: createLogger('silent', TEST_ORIGIN) },
    },
  );
  const send = async (method: 'POST' | 'DELETE' | 'PATCH' | 'GET', url: string, json?: object) => {
    const headers = { authorization: `Bearer ${KEY}` };
    const answer = await app.inject({ method, url, headers, ...(json && { payload: json }) });
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
  };
  return { asked, lines, send, [Symbol.asyncDispose]: async () => await app.close() };
}

const THERE: EngineAnswer = {
  ...{ body: '{}', etag: '', cycles: 0, throttledRetryAfterS: 0, isReplayed: false },
};

const WRITES = [
  ['POST', '/v1/instances', { name: 'Ada' }],
  ['PATCH', `/v1/instances/${ID}`, { name: 'Ada' }],
  ['DELETE', `/v1/instances/${ID}`, undefined],
  ['POST', `/v1/instances/${ID}/reset`, { mode: 'initial' }],
] as const;

const writes = suite('writes to instances');

writes('are not made without their audit line', async () => {
  const refusals = [
    async () => Promise.reject(new Fault('service_unavailable', 'no limiter')),
    async () => Promise.reject(new Error('a bug')),
    async () => ({ verdict: 'answered', allowance: undefined, body: {} }) as const,
  ];
  for (const refuse of refusals) {
    await using edge = await edgeWith(refuse);
    for (const [method, url, json] of WRITES) {
      const { status, body, headers } = await edge.send(method, url, json);
      assert.equal(
        [status, body.error, body.details.reason, headers['retry-after']],
        [503, 'service_unavailable', 'audit_unavailable', '1'],
      );
    }
    assert.is(edge.lines.length, WRITES.length);
    assert.equal(edge.asked, [], 'the engine must not be asked');
  }
});

writes('are answered by the engine even if the second audit line fails', async () => {
  let lines = 0;
  await using edge = await edgeWith(async () => {
    lines += 1;
    if (lines > 1) throw new Fault('service_unavailable', 'no limiter');
    return { verdict: 'answered', allowance: undefined, body: { place: '2026-01.1' } };
  });
  const { status } = await edge.send('DELETE', `/v1/instances/${ID}`);
  assert.equal([status, lines, edge.asked.length], [404, 2, 1]);
});

// Report 12: each write to an unknown instance left two durable lines, without any bound.
writes('to an instance that does not exist leave no audit line', async () => {
  await using edge = await edgeWith(() => Promise.reject(new Error('no line is needed')), false);
  for (const [method, url, json] of WRITES.slice(1)) {
    assert.is((await edge.send(method, url, json)).status, 404);
  }
  assert.equal(edge.lines, []);
  assert.equal(
    edge.asked.map(({ command }) => command.kind),
    ['readInstance', 'readInstance', 'readInstance'],
  );
});

// Report 12: the audit trail of a month had no bound.
writes('are refused while the audit trail of the month is full', async () => {
  const full = faultFor('audit_full', 'enough', { retryAfterS: 60 });
  await using edge = await edgeWith(() => Promise.reject(full));
  for (const [method, url, json] of WRITES) {
    const { status, body, headers } = await edge.send(method, url, json);
    assert.equal(
      [status, body.error, body.details.reason, headers['retry-after']],
      [429, 'quota_exceeded', 'audit_full', '60'],
    );
  }
  assert.equal(edge.asked, []);
  const [line] = edge.lines;
  assert.ok(line);
  const { linesMax } = line.body as { linesMax: number };
  assert.is(linesMax, Math.max(20_000, 2 * ALLOWANCE.cyclesPerMonth));
});

writes('that are refused before they start, and reads, leave no audit line', async () => {
  await using edge = await edgeWith(() => Promise.reject(new Error('no line is needed')));
  assert.is((await edge.send('POST', '/v1/instances', { nam: 'Ada' })).status, 422);
  assert.is((await edge.send('DELETE', '/v1/instances/nonsense')).status, 404);
  assert.is((await edge.send('GET', '/v1/instances/inst_none')).status, 404);
  const observation = { mode_target: 'ORDER', signal_strength: 0.5 };
  assert.is((await edge.send('POST', `/v1/instances/${ID}/process`, observation)).status, 404);
  assert.equal(edge.lines, []);
});

writes.run();
