import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { custom, meterUnderTest } from '#test/limiter/limiter-fixture';

type Step =
  | { readonly kind: 'admit'; readonly callId: number; readonly cycles: number }
  | { readonly kind: 'settle'; readonly callId: number; readonly used: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'step wall'; readonly ms: number };

const callId = fc.integer({ min: 1, max: 12 });
const admit = fc.record({ kind: fc.constant('admit'), callId, cycles: fc.nat(5) } as const);
const settle = fc.record({ kind: fc.constant('settle'), callId, used: fc.nat(6) } as const);
const advance = fc.record({
  kind: fc.constant('advance'),
  ms: fc.oneof(fc.nat(2_000), fc.nat(70_000), fc.nat(40 * 86_400_000)),
} as const);
const stepWall = fc.record({
  kind: fc.constant('step wall'),
  ms: fc.integer({ min: -3_600_000, max: 3_600_000 }),
} as const);

const running: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: admit },
  { weight: 5, arbitrary: settle },
  { weight: 2, arbitrary: advance },
);
const stepped: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: running },
  { weight: 1, arbitrary: stepWall },
);
const limits = fc.record({ requests: fc.integer({ min: 1, max: 12 }), cycles: fc.nat(30) });
const life = (step: fc.Arbitrary<Step>) => fc.array(step, { maxLength: 120, size: 'max' });

function run(requests: number, cycles: number) {
  const meter = meterUnderTest(custom(requests, cycles));
  const take = (step: Step) => {
    switch (step.kind) {
      case 'admit':
        return meter.admit(step.callId, step.cycles);
      case 'settle':
        return meter.settle(step.callId, step.used);
      case 'advance':
        meter.clock.advance(step.ms);
        return undefined;
      case 'step wall':
        meter.clock.stepWall(step.ms);
        return undefined;
    }
  };
  return { ...meter, take };
}

const always = suite('after any admissions, settlements and pauses');

always('no window of 60 s has more requests than the limit', () => {
  fc.assert(
    fc.property(limits, life(stepped), ({ requests, cycles }, steps) => {
      const { take, clock } = run(requests, cycles);
      let endsAtMs = Number.NEGATIVE_INFINITY;
      let counted = 0;
      for (const step of steps) {
        const answer = take(step);
        if (step.kind !== 'admit') continue;
        if (clock.monotonicMs() >= endsAtMs) {
          endsAtMs = clock.monotonicMs() + 60_000;
          counted = 0;
        }
        if (answer?.verdict !== 'rate_limited') counted += 1;
        else assert.is(counted, requests, 'no request is refused too early');
        assert.ok(counted <= requests);
        assert.is(answer?.allowance?.requestsRemaining, requests - counted);
      }
    }),
    { numRuns: 500 },
  );
});

always('no month has more cycles in use than the quota', () => {
  fc.assert(
    fc.property(limits, life(stepped), ({ requests, cycles }, steps) => {
      const { take, meter, now } = run(requests, cycles);
      for (const step of steps) {
        const answer = take(step);
        const usage = meter.usage(now());
        const used = usage?.cyclesUsed ?? Number.NaN;
        const reserved = usage?.cyclesReserved ?? Number.NaN;
        assert.ok(used >= 0 && reserved >= 0 && used + reserved <= cycles);
        if (answer === undefined) continue;
        assert.is(answer.allowance?.cyclesRemaining, cycles - used - reserved);
      }
    }),
    { numRuns: 500 },
  );
});

const attempt = fc.record({
  callId: fc.integer({ min: 1, max: 4 }),
  cycles: fc.integer({ min: 1, max: 4 }),
  advances: fc.boolean(),
  settles: fc.constantFrom('first', 'last', 'never'),
  waitMs: fc.nat(30_000),
});

type Attempt = typeof attempt extends fc.Arbitrary<infer T> ? T : never;

/**
 * An engine that executes each call id at most once. It settles admitted calls three at a time, in
 * any order, or never. The charged cycles must never be less than the advanced cycles.
 */
function engineUnderTest() {
  const limiter = meterUnderTest(custom(1e6, 50));
  const committed = new Set<number>();
  const waiting: { callId: number; used: number }[] = [];
  let advanced = 0;

  function settleSome(waitMs: number): void {
    if (waiting.length < 3) return;
    limiter.clock.advance(waitMs);
    for (const { callId, used } of waiting.splice(0)) limiter.settle(callId, used);
  }

  return {
    attempt({ callId, cycles, advances, settles, waitMs }: Attempt): void {
      if (limiter.admit(callId, cycles).verdict !== 'admitted') return;
      const used = advances && !committed.has(callId) ? cycles : 0;
      if (used > 0) committed.add(callId);
      advanced += used;
      if (settles === 'first') waiting.unshift({ callId, used });
      if (settles === 'last') waiting.push({ callId, used });
      settleSome(waitMs);
    },
    account() {
      const usage = limiter.meter.usage(limiter.now());
      return { advanced, charged: (usage?.cyclesUsed ?? 0) + (usage?.cyclesReserved ?? 0) };
    },
  };
}

always('every committed cycle is charged, in any order of settlements', () => {
  fc.assert(
    fc.property(fc.array(attempt, { maxLength: 40 }), (attempts) => {
      const engine = engineUnderTest();
      for (const one of attempts) {
        engine.attempt(one);
        const { advanced, charged } = engine.account();
        assert.ok(charged >= advanced, `${charged} charged for ${advanced}`);
      }
    }),
    { numRuns: 1_000 },
  );
});

always('the announced window end is never in the past, and at most 60 s away, rounded up', () => {
  fc.assert(
    fc.property(limits, life(stepped), ({ requests, cycles }, steps) => {
      const { take, clock } = run(requests, cycles);
      for (const step of steps) {
        const answer = take(step);
        if (answer === undefined) continue;
        const reset = (answer.allowance?.windowResetAtS ?? 0) * 1_000;
        assert.ok(reset >= clock.wallMs() && reset - clock.wallMs() < 61_011);
      }
    }),
    { numRuns: 500 },
  );
});

always('no cycles are reserved 60 s later, and none are used in the next month', () => {
  fc.assert(
    fc.property(limits, life(running), ({ requests, cycles }, steps) => {
      const { take, meter, now, clock } = run(requests, cycles);
      for (const step of steps) take(step);
      // Reservations expire at whole tenths of a second.
      clock.advance(60_100);
      assert.is(meter.usage(now())?.cyclesReserved, 0);
      clock.advance(32 * 86_400_000);
      assert.is(meter.usage(now())?.cyclesUsed, 0);
    }),
  );
});

always.run();
