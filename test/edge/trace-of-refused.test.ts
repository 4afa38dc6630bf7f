import type { IncomingHttpHeaders } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { buildApp } from '#edge/app';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { LASTING_ALLOWANCE } from '#test/edge/admission/lasting-allowance';
import { RecordedSpans, recordedSpan } from '#test/support/recorded-spans';
import { TEST_ORIGIN } from '#test/support/test-logger';

/** Records each traced request, and whether the edge refuses the request at its start. */
class HeardRequests extends RecordedSpans {
  readonly heard: unknown[] = [];

  override request({ traceparent }: IncomingHttpHeaders = {}, isRefused?: boolean) {
    this.heard.push([traceparent, isRefused]);
    return super.request();
  }
}

const KEY = `Bearer ${formatApiKey('Acc0unt00001', 's'.repeat(32))}`;
const asking = recordedSpan(7);

const refused = suite('a caller that requests a trace');

for (const [who, authorization, isRefused] of [
  ['without a key is already refused', undefined, true],
  ['with a malformed key is already refused', 'Bearer something', true],
  ['with a well-formed key is not yet refused', KEY, false],
] as const) {
  refused(`${who} at the sampling decision`, async () => {
    const tracer = new HeardRequests();
    const app = buildApp(
      { clusterSecrets: unchanging(['x'.repeat(16)]), trustedProxies: [], drainMs: 0 },
      {
        engine: { ask: async () => assert.unreachable() as never },
        limiter: { ask: async () => ({ verdict: 'unknown_key', allowance: LASTING_ALLOWANCE }) },
        clock: systemClock,
        randomness: systemRandomness,
        metrics: createMetrics(),
        logger: createLogger('silent', TEST_ORIGIN),
        tracer,
      },
    );
    const headers = { traceparent: asking, ...(authorization && { authorization }) };
    const { statusCode } = await app.inject({ url: '/v1/instances', headers });
    assert.is(statusCode, 401);
    assert.equal(tracer.heard, [[asking, isRefused]]);
    assert.is(tracer.ended.length, 1, 'the span of a refused request must end');
    await app.close();
  });
}

refused.run();
