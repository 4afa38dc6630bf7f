import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { Admission, type AdmissionCall, LimitedKeys } from '#edge/callers/admission';
import { edgeMetrics } from '#edge/serve/reply';
import { createMetrics } from '#telemetry/metrics';
import { counted, custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { type CopyDelays, copyDelays, lossyLink } from '#test/limiter/meter/lossy-link';
import { pass } from '#test/support/passing';

/** Requests per minute in the plan. The histories reach this limit. */
const REQUESTS = 8;
/** Cycles per month in the plan. The histories reach this limit. */
const CYCLES = 20;

/** A call with its reserved cycles and used cycles, and the pause before it. */
type Wanted = { readonly cycles: number; readonly uses: number; readonly pauseMs: number };

const requests: fc.Arbitrary<Wanted> = fc
  .record({ cycles: fc.nat(5), uses: fc.nat(5), pauseMs: fc.nat(3_000) })
  .map((request) => ({ ...request, uses: Math.min(request.uses, request.cycles) }));

/** An edge and its limiter, connected by a link that applies these delays in order. */
async function scene(delays: readonly CopyDelays[]) {
  const limiter = await limiterUnderTest(custom(REQUESTS, CYCLES));
  const { clock, id, key } = limiter;
  const metrics = createMetrics();
  const left = [...delays];
  const link = lossyLink(limiter.limiter.client, clock, () => left.shift() ?? [0]);
  const limited = new LimitedKeys(clock, undefined);
  const admission = new Admission(link, clock, edgeMetrics(metrics), limited);
  /** Counts the answers to callers. `granted` has the number of granted requests by window end. */
  const answered = { executed: 0, unsure: 0, granted: new Map<unknown, number>() };
  let lastCallId = 0;
  const call = async ({ cycles, uses }: Wanted) => {
    lastCallId += 1;
    const caller = { accountId: id, credential: digestOf(key) };
    const asked: AdmissionCall = {
      caller,
      address: '1.1.1.1',
      callId: lastCallId,
      callTag: 0,
      isKeyed: false,
      scope: 'full',
      cycles,
    };
    const admitted = await admission.admit(asked);
    const { refusal, headers } = admitted;
    if (refusal !== undefined) {
      if (refusal.code === 'service_unavailable') answered.unsure += 1;
      return;
    }
    answered.executed += uses;
    const windowEnd = headers['x-ratelimit-reset'];
    answered.granted.set(windowEnd, (answered.granted.get(windowEnd) ?? 0) + 1);
    await admission.settle(asked, uses, admitted);
  };
  const usage = async () => await limiter.limiter.admin.usage(id);
  return { ...limiter, edgeMetrics: metrics, answered, call, usage };
}

const link = suite('when messages between edge and limiter are lost, repeated or reordered');

link(
  'no account gets more than its plan, and every charged cycle was used or expired',
  async () => {
    const history = fc.array(requests, { maxLength: 30, size: 'max' });
    const anyDelays = fc.array(copyDelays, { maxLength: 120, size: 'max' });
    await fc.assert(
      fc.asyncProperty(history, anyDelays, async (wanted, delays) => {
        const { clock, answered, call, usage, edgeMetrics: metrics } = await scene(delays);
        const pending: Promise<void>[] = [];
        for (const request of wanted) {
          clock.advance(request.pauseMs);
          pending.push(call(request));
        }
        await pass(clock, 140_000, 5_000);
        await Promise.all(pending);
        const { cyclesUsed, cyclesReserved, cyclesExpired, cyclesLost } = await usage();
        assert.ok(answered.executed <= CYCLES, `${answered.executed} executed`);
        for (const count of answered.granted.values())
          assert.ok(count <= REQUESTS, `${count} granted`);
        assert.ok(
          cyclesUsed >= answered.executed,
          `${cyclesUsed} charged for ${answered.executed}`,
        );
        assert.equal([cyclesReserved, cyclesLost], [0, 0]);
        assert.ok(
          cyclesUsed <= answered.executed + cyclesExpired,
          'every charge must have a cause',
        );
        const failed = 'edge_fail_closed_total{reason="limiter_unavailable"}';
        assert.is(await counted(metrics, failed), answered.unsure);
      }),
      { numRuns: 300 },
    );
  },
);

link('a call without an answer in 100 ms is refused, and its cycles are refunded', async () => {
  const { clock, answered, call, usage } = await scene([[0], []]);
  const pending = call({ cycles: 5, uses: 5, pauseMs: 0 });
  await pass(clock, 101, 1);
  await pending;
  assert.equal([answered.executed, answered.unsure], [0, 1]);
  const { cyclesUsed, cyclesReserved, requestsInWindow } = await usage();
  assert.equal([cyclesUsed, cyclesReserved, requestsInWindow], [0, 0, 1]);
});

link('the reservation of an admission that arrives after its refund expires as used', async () => {
  const { clock, answered, call, usage } = await scene([[500]]);
  const pending = call({ cycles: 5, uses: 5, pauseMs: 0 });
  await pass(clock, 101, 1);
  await pending;
  await pass(clock, 500, 50);
  assert.equal([answered.executed, (await usage()).cyclesReserved], [0, 5]);
  await pass(clock, 61_000, 1_000);
  const { cyclesUsed, cyclesReserved, cyclesExpired } = await usage();
  assert.equal([cyclesUsed, cyclesReserved, cyclesExpired], [5, 0, 5]);
});

link('a repeated settlement refunds once', async () => {
  const { clock, call, usage } = await scene([[0], [0], [0, 10, 20]]);
  const first = call({ cycles: 5, uses: 1, pauseMs: 0 });
  const second = call({ cycles: 5, uses: 5, pauseMs: 0 });
  await pass(clock, 200, 1);
  await Promise.all([first, second]);
  assert.is((await usage()).cyclesUsed, 6);
});

// Without reservation numbers, the duplicates would charge the call twice.
link('late duplicates of a whole call charge only an expired reservation', async () => {
  const copied: CopyDelays = [0, 5_001];
  const { clock, answered, call, usage } = await scene([copied, [0], copied]);
  const pending = call({ cycles: 1, uses: 1, pauseMs: 0 });
  await pass(clock, 50, 1);
  await pass(clock, 140_000, 500);
  await pending;
  const { cyclesUsed, cyclesExpired } = await usage();
  assert.equal([answered.executed, cyclesUsed, cyclesExpired], [1, 2, 1]);
});

link.run();
