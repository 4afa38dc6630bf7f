import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { buildApp } from '#edge/app';
import { Fault } from '#errors/fault';
import type { EngineAnswer } from '#grpc/engine-messages';
import type { LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { LASTING_ALLOWANCE } from '#test/edge/admission/lasting-allowance';
import { TEST_ORIGIN } from '#test/support/test-logger';

const ANSWER: EngineAnswer = {
  body: '{}',
  etag: '"1"',
  cycles: 1,
  throttledRetryAfterS: 0,
  isReplayed: false,
};

/** Returns the cycles that the edge settles as used for a keyed observation with this answer. */
async function settledFor(engineAnswer: () => EngineAnswer): Promise<number[]> {
  const calls = await limiterCallsOf(engineAnswer, { 'idempotency-key': 'once' });
  return calls.flatMap((call) => (call.kind === 'settle' ? [call.cyclesUsed] : []));
}

/** The limiter calls for an observation with these headers and this engine answer. */
async function limiterCallsOf(
  engineAnswer: () => EngineAnswer,
  headers: Record<string, string>,
): Promise<LimiterCall[]> {
  const calls: LimiterCall[] = [];
  const app = buildApp(
    { clusterSecrets: unchanging(['x'.repeat(16)]), trustedProxies: [], drainMs: 0 },
    {
      engine: { ask: async () => engineAnswer() },
      limiter: {
        ask: async (call: LimiterCall): Promise<LimiterAnswer> => {
          calls.push(call);
          const verdict = call.kind === 'settle' ? 'settled' : 'admitted';
          return { verdict, allowance: LASTING_ALLOWANCE };
        },
      },
      clock: systemClock,
      randomness: systemRandomness,
      metrics: createMetrics(),
      logger: createLogger('silent', TEST_ORIGIN),
    },
  );
  const key = formatApiKey('Acc0unt00001', 's'.repeat(32));
  await app.inject({
    method: 'POST',
    url: '/v1/instances/inst_0123456789abcdef/process',
    headers: { ...headers, authorization: `Bearer ${key}` },
    payload: { mode_target: 'ORDER', signal_strength: 0.5 },
  });
  await app.close();
  return calls;
}

const settlement = suite('the cycles of a keyed observation');

settlement('are settled as used after a new cycle, and refunded after a replay', async () => {
  assert.equal(await settledFor(() => ANSWER), [1]);
  assert.equal(await settledFor(() => ({ ...ANSWER, cycles: 0, isReplayed: true })), [0]);
});

settlement('are not refunded if an earlier attempt may have used these cycles', async () => {
  const answer = { ...ANSWER, cycles: 0, isReplayed: true, isPerhapsOwn: true } as const;
  assert.equal(await settledFor(() => answer), []);
});

settlement('are refunded after a refusal, unless the outcome is unknown', async () => {
  const refusing = (isOutcomeUnknown: boolean) => () => {
    const options = { reason: 'engine_unavailable', isOutcomeUnknown } as const;
    throw new Fault('service_unavailable', 'not now', options);
  };
  assert.equal(await settledFor(refusing(false)), [0]);
  assert.equal(await settledFor(refusing(true)), []);
});

settlement('are not refunded after an unexpected error of the engine', async () => {
  const bug = () => {
    throw new TypeError('undefined is not a function');
  };
  assert.equal(await settledFor(bug), []);
});

const names = suite('the id of a call at the limiter');

names('is derived from the idempotency key, and is the same in the settlement', async () => {
  const headers = { 'idempotency-key': 'once' };
  const [first, second] = [
    await limiterCallsOf(() => ANSWER, headers),
    await limiterCallsOf(() => ANSWER, headers),
  ];
  const named = [...first, ...second].map(({ callId, callTag }) => `${callId} ${callTag}`);
  assert.is(named.length, 4);
  assert.is(new Set(named).size, 1);
  assert.ok((first[0]?.callTag ?? 0) > 0);
});

names('has no tag without an idempotency key', async () => {
  const calls = await limiterCallsOf(() => ANSWER, {});
  const again = await limiterCallsOf(() => ANSWER, {});
  assert.equal(
    [...calls, ...again].map(({ callTag }) => callTag),
    [0, 0, 0, 0],
  );
  assert.is(new Set([...calls, ...again].map(({ callId }) => callId)).size, 2);
});

for (const each of [settlement, names]) each.run();
