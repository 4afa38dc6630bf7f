import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Admission, type AdmissionCall, LimitedKeys } from '#edge/callers/admission';
import { edgeMetrics } from '#edge/serve/reply';
import { Fault } from '#errors/fault';
import type { LimiterCall } from '#grpc/limiter-messages';
import { createMetrics } from '#telemetry/metrics';
import { ALLOWANCE, type Answering, CALL } from '#test/edge/admission/admission-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

/**
 * An edge's admission with a fake limiter, which answers calls with `answering`. `settled` records
 * the settlements that the limiter receives.
 */
function scene(answering: Answering) {
  const clock = new ManualClock();
  const metrics = createMetrics();
  const settled: (readonly [callId: number, callTag: number, cyclesUsed: number])[] = [];
  const limiter = {
    ask(call: LimiterCall) {
      if (call.kind === 'settle') settled.push([call.callId, call.callTag, call.cyclesUsed]);
      return answering(call);
    },
  };
  const limited = new LimitedKeys(clock, undefined);
  const admission = new Admission(limiter, clock, edgeMetrics(metrics), limited);
  return {
    settled,
    admit: (call: Partial<AdmissionCall> = {}) => admission.admit({ ...CALL, ...call }),
    settle: (cyclesUsed: number) =>
      admission.settle(CALL, cyclesUsed, { headers: { was: 'there' } }),
    async unsettled() {
      await turnOfEvents();
      const { text } = await metrics.scrape();
      return Number(/^edge_unsettled_total (\d+)$/m.exec(text)?.[1] ?? 0);
    },
  };
}

const unavailable = (isOutcomeUnknown: boolean) =>
  new Fault('service_unavailable', 'no answer', {
    reason: 'limiter_unavailable',
    isOutcomeUnknown,
  });

/** Fails admissions with a known or unknown outcome, and answers settlements with `settling`. */
const failing =
  (isOutcomeUnknown: boolean, settling: Answering): Answering =>
  (call) =>
    call.kind === 'admit' ? Promise.reject(unavailable(isOutcomeUnknown)) : settling(call);

const settling: Answering = () => ({ verdict: 'settled', allowance: ALLOWANCE });

const granted = suite('cycles that the limiter may have reserved without an answer');

granted('are refunded once, because they will not be used', async () => {
  const { admit, settled, unsettled } = scene(failing(true, settling));
  assert.is((await admit()).refusal?.reason, 'limiter_unavailable');
  assert.equal(settled, [[7, 5, 0]]);
  assert.is(await unsettled(), 0);
});

granted('are not refunded for a keyed call, because a retry may use the cycles', async () => {
  const { admit, settled } = scene(failing(true, settling));
  await admit({ isKeyed: true });
  assert.equal(settled, []);
});

granted('are not refunded if the call needs no cycles or was certainly not admitted', async () => {
  const unknown = scene(failing(true, settling));
  await unknown.admit({ cycles: 0 });
  assert.equal(unknown.settled, []);
  const known = scene(failing(false, settling));
  await known.admit();
  assert.equal(known.settled, []);
});

for (const [how, refuse] of [
  ['immediately', () => raise(unavailable(false))],
  ['later', () => Promise.reject(unavailable(false))],
] as const) {
  granted(`are counted as unsettled if the refund fails ${how}`, async () => {
    const { admit, unsettled } = scene(failing(true, refuse));
    assert.is((await admit()).refusal?.code, 'service_unavailable');
    assert.is(await unsettled(), 1);
  });
}

const settlement = suite('a settlement');

settlement('of all reserved cycles does not delay the answer, and may fail', async () => {
  const hanging = scene(() => new Promise(() => undefined));
  assert.equal(await hanging.settle(3), { was: 'there' });
  assert.equal(hanging.settled, [[7, 5, 3]]);
  assert.is(await hanging.unsettled(), 0);
  const failed = scene(() => Promise.reject(unavailable(true)));
  assert.equal(await failed.settle(3), { was: 'there' });
  assert.is(await failed.unsettled(), 1);
});

settlement('of fewer cycles waits for the new limit headers', async () => {
  const { settle, unsettled } = scene(async () => ({ verdict: 'settled', allowance: ALLOWANCE }));
  assert.is((await settle(2))['x-monthly-remaining'], 700);
  assert.is(await unsettled(), 0);
});

settlement('that fails keeps the limit headers of the admission, and is counted', async () => {
  for (const fail of [() => raise(unavailable(true)), () => Promise.reject(unavailable(true))]) {
    const { settle, unsettled } = scene(fail);
    assert.equal(await settle(0), { was: 'there' });
    assert.is(await unsettled(), 1);
  }
});

settlement('for a deleted account keeps the limit headers of the admission', async () => {
  const { settle, unsettled } = scene(() => ({ verdict: 'unknown_key', allowance: undefined }));
  assert.equal(await settle(0), { was: 'there' });
  assert.is(await unsettled(), 0);
});

settlement('that is answered immediately is not counted as failed', async () => {
  const { settle, unsettled } = scene(settling);
  assert.equal(await settle(3), { was: 'there' });
  assert.is(await unsettled(), 0);
});

function raise(error: Error): never {
  throw error;
}

for (const each of [granted, settlement]) each.run();
