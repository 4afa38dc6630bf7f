import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import {
  type Event,
  quietHistories,
  readingHistories,
  wildHistories,
} from '#test/limiter/meter/meter-histories';
import { KEYS, type MeterFlaw, MeterSimulation } from '#test/limiter/meter/meter-world';

const limits = fc.record({
  requests: fc.integer({ min: 1, max: 150 }),
  cycles: fc.integer({ min: 1, max: 300 }),
});

/**
 * Applies the events to a meter. After each event, throws if the account exceeded a limit, if an
 * executed cycle is not charged, or if a charge has no cause.
 */
function judge(requests: number, cycles: number, events: readonly Event[], flaw?: MeterFlaw): void {
  const simulation = new MeterSimulation(requests, cycles, flaw);
  for (const event of events) {
    simulation.take(event);
    const { cyclesUsed, cyclesReserved, cyclesLost, cyclesExpired } = simulation.usage;
    const charged = cyclesUsed + cyclesReserved;
    assert.ok(simulation.executed <= cycles, `${simulation.executed} of ${cycles} cycles executed`);
    assert.ok(
      simulation.granted <= requests,
      `${simulation.granted} of ${requests} requests granted`,
    );
    assert.ok(
      simulation.executed <= charged,
      `${simulation.executed} cycles executed, but ${charged} charged`,
    );
    const excused = simulation.executed + cyclesLost + cyclesExpired + cyclesReserved;
    assert.ok(charged <= excused, `${charged} cycles charged, but ${excused} have a cause`);
    judgeKeys(simulation);
  }
}

/**
 * Throws if a key was charged for other keys' calls, or if the keys together were charged more
 * cycles on a day than the account.
 */
function judgeKeys({ usage, executedBy }: MeterSimulation): void {
  for (const [index, charged] of chargedBy(usage).entries()) {
    const excused = (executedBy[index] ?? 0) + usage.cyclesExpired;
    assert.ok(
      charged <= excused,
      `${charged} cycles charged to a key, but ${excused} have a cause`,
    );
  }
  for (const [day, cycles] of usage.cyclesByDay.entries()) {
    const ofKeys = sumOf(usage.keys.map(({ cyclesByDay }) => cyclesByDay[day] ?? 0));
    assert.ok(ofKeys <= cycles, `day ${day}: ${ofKeys} cycles of keys, ${cycles} of the account`);
  }
}

/** Charged cycles by key, in the order of `KEYS`. */
function chargedBy({ keys }: MeterSimulation['usage']): number[] {
  return KEYS.map((key) => {
    const used = keys.find(({ prefix }) => digestOf(key).startsWith(prefix));
    return sumOf(used?.cyclesByDay ?? []);
  });
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

const always = suite('after any crash, takeover, loss or unknown outcome');

always('no account exceeds its plan, and every charge has a cause', () => {
  fc.assert(
    fc.property(limits, wildHistories, ({ requests, cycles }, events) => {
      judge(requests, cycles, events);
    }),
    { numRuns: 3_000 },
  );
});

always('no account exceeds its plan while a disk fails', () => {
  fc.assert(
    fc.property(limits, readingHistories, ({ requests, cycles }, events) => {
      judge(requests, cycles, events);
    }),
    { numRuns: 3_000 },
  );
});

always('a crash costs an account with few calls at most two steps of ten cycles', () => {
  const settle = fc.record({ kind: fc.constant('settle'), which: fc.nat(5) } as const);
  const call = fc.record({
    kind: fc.constant('call'),
    cycles: fc.nat(8),
    uses: fc.nat(8),
  } as const);
  fc.assert(
    fc.property(fc.array(fc.oneof(call, settle), { maxLength: 60, size: 'max' }), (events) => {
      const simulation = new MeterSimulation(1_000_000, 1_000_000);
      for (const event of events) {
        simulation.take(event);
        simulation.take({ kind: 'durable' });
        simulation.take({ kind: 'wait', ms: 200 });
      }
      const before = simulation.usage;
      simulation.take({ kind: 'crash', appended: 0 });
      const cost = simulation.usage.cyclesUsed - before.cyclesUsed - before.cyclesReserved;
      assert.ok(cost >= 0 && cost <= 20, `${cost} cycles`);
    }),
    { numRuns: 1_000 },
  );
});

always('counts are exact after histories without crashes, even with handoffs', () => {
  fc.assert(
    fc.property(quietHistories, (events) => {
      const simulation = new MeterSimulation(1_000_000, 500);
      for (const event of events) simulation.take(event);
      simulation.finish();
      const { cyclesUsed, cyclesReserved, cyclesLost, cyclesExpired } = simulation.usage;
      assert.equal(
        { cyclesUsed, cyclesReserved, cyclesLost, cyclesExpired },
        { cyclesUsed: simulation.executed, cyclesReserved: 0, cyclesLost: 0, cyclesExpired: 0 },
      );
      assert.equal(chargedBy(simulation.usage), simulation.executedBy);
    }),
    { numRuns: 1_000 },
  );
});

const flawed = suite('the checks of these tests');

const FLAWS = {
  'grants above its durable watermark': wildHistories,
  'refunds an unknown outcome': wildHistories,
  'forgets unrecorded grants after a crash': readingHistories,
} as const satisfies Record<NonNullable<MeterFlaw>, typeof wildHistories>;

for (const [flaw, histories] of Object.entries(FLAWS) as [MeterFlaw, typeof wildHistories][]) {
  flawed(`detect a meter that ${flaw}`, () => {
    const property = fc.property(limits, histories, ({ requests, cycles }, events) => {
      judge(requests, cycles, events, flaw);
    });
    const { failed, numRuns } = fc.check(property, { numRuns: 3_000, seed: 1 });
    assert.ok(failed, 'the checks must detect the fault');
    assert.ok(numRuns < 1_000, `${numRuns} histories`);
  });
}

always.run();
flawed.run();
