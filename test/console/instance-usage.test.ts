import { setImmediate } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { instanceUsage } from '#console/usage/instance-usage';
import { Fault, faultFor, toFault } from '#errors/fault';
import type { MeterUsage } from '#grpc/admin';
import { type EngineCall, plainAnswer } from '#grpc/engine-messages';
import { ManualClock } from '#test/support/manual-clock';

const MONTH_END = Date.UTC(2026, 1, 1);

/** Usage as in a limiter answer. */
const used = (cyclesUsed: number): MeterUsage => ({
  limits: { requestsPerMinute: 10, cyclesPerMonth: 10_000 },
  ...{ requestsInWindow: 0, windowResetAtS: undefined, windowWatermark: 0, cyclesUsed },
  ...{ cyclesReserved: 0, monthResetAtS: MONTH_END / 1_000, monthWatermark: 0 },
  ...{ cyclesExpired: 0, cyclesLost: 0, cyclesByDay: [], keys: [], finishedMonths: [] },
});

const idOf = (index: number) => `inst_${index.toString(16).padStart(16, '0')}`;

/**
 * Engines with `count` instances of one account. Later instances have more cycles, all in this
 * month. `before` runs before each answer.
 */
function engines(count: number, before: (call: EngineCall) => void = () => {}, cyclesUsed = 500) {
  const clock = new ManualClock();
  const calls: EngineCall[] = [];
  const state = { atOnce: 0, most: 0, isImmediate: false };
  const answer = (call: EngineCall): object => {
    const { command } = call;
    if (command.kind === 'list') {
      const { offset, limit } = command;
      const rows = Math.max(0, Math.min(limit, count - offset));
      const data = Array.from({ length: rows }, (_, row) => {
        const index = count - 1 - offset - row;
        const created = '2026-01-10T08:00:00.000Z';
        return {
          id: idOf(index),
          name: `Instance ${index}`,
          cycle_count: index + 1,
          created_at: created,
        };
      });
      return { data, pagination: { total: count } };
    }
    assert.is(command.kind, 'readHistory');
    const total = Number.parseInt(call.instanceId.slice(5), 16) + 1;
    const offset = 'offset' in command ? command.offset : 0;
    const timestamp = new Date(MONTH_END - 1_000 * (offset + 1)).toISOString();
    return { data: [{ cycle: total - offset, timestamp }], pagination: { total } };
  };
  const engine = {
    async ask(call: EngineCall) {
      calls.push(call);
      state.atOnce += 1;
      state.most = Math.max(state.most, state.atOnce);
      try {
        if (!state.isImmediate) await setImmediate();
        before(call);
        return plainAnswer(Buffer.from(JSON.stringify(answer(call))));
      } finally {
        state.atOnce -= 1;
      }
    },
  };
  const usage = { usage: async () => used(cyclesUsed), months: async () => [] };
  return { ports: { engine, clock, usage }, clock, calls, state };
}

const bounded = suite('the usage by instance');

bounded('lists the instances with the most cycles, and the sum of all other cycles', async () => {
  const { ports, calls, state } = engines(30);
  const found = await instanceUsage(ports, 'accountOfAda');
  assert.is(found.monthBeginsAtMs, Date.UTC(2026, 0, 1));
  assert.is(found.instances.length, 20);
  assert.equal(found.instances[0], { id: idOf(29), name: 'Instance 29', cycles: 30 });
  assert.is(found.otherCycles, 500 - 410);
  assert.equal([found.instancesTotal, found.instancesListed, found.isComplete], [30, 30, true]);
  assert.ok(calls.every(({ accountId }) => accountId === 'accountOfAda'));
  assert.ok(state.most <= 8, `${state.most} concurrent calls`);
});

bounded('never reports a negative sum of other cycles', async () => {
  const { ports } = engines(30, undefined, 100);
  assert.is((await instanceUsage(ports, 'accountOfAda')).otherCycles, 0);
});

bounded('covers the 10,000 newest instances, and reports that it is incomplete', async () => {
  const { ports, calls, state } = engines(12_345);
  const found = await instanceUsage(ports, 'accountOfAda');
  assert.equal(
    [found.instancesTotal, found.instancesListed, found.isComplete],
    [12_345, 10_000, false],
  );
  assert.is(found.instances[0]?.id, idOf(12_344));
  assert.is(calls.filter(({ command }) => command.kind === 'list').length, 100);
  assert.is(state.most, 8);
});

bounded('yields to other work, although engines answer immediately', async () => {
  const { ports, calls, state } = engines(1_000);
  state.isImmediate = true;
  let turns = 0;
  let isOver = false;
  const usage = instanceUsage(ports, 'accountOfAda').finally(() => {
    isOver = true;
  });
  for (; !isOver; turns += 1) await setImmediate();
  await usage;
  assert.ok(turns >= calls.length / 8, `${turns} turns for ${calls.length} calls`);
});

bounded('stops after ten seconds, which is also the deadline of all its calls', async () => {
  const { ports, clock, calls } = engines(1_000, ({ command }) => {
    if (command.kind === 'readHistory') clock.advance(400);
  });
  const beganAtMs = clock.wallMs();
  const found = await instanceUsage(ports, 'accountOfAda');
  assert.is(found.isComplete, false);
  assert.is(found.instancesListed, 1_000);
  assert.ok(found.instances.length > 0, 'something was found');
  assert.ok(clock.wallMs() - beganAtMs < 14_000, 'no further call is made');
  for (const { deadlineAtMs } of calls) assert.is(deadlineAtMs, beganAtMs + 10_000);
});

bounded('leaves time to read the listed instances', async () => {
  const { ports, clock } = engines(5_000, ({ command }) => {
    if (command.kind === 'list') clock.advance(500);
  });
  const found = await instanceUsage(ports, 'accountOfAda');
  assert.ok(found.instancesListed >= 1_000 && found.instancesListed < 2_500);
  assert.equal([found.instances.length, found.isComplete], [20, false]);
});

bounded('skips an instance that is deleted meanwhile', async () => {
  const { ports } = engines(30, ({ instanceId }) => {
    if (instanceId === idOf(29)) throw new Fault('not_found', 'instance not found');
  });
  const found = await instanceUsage(ports, 'accountOfAda');
  assert.equal([found.instances[0]?.id, found.isComplete], [idOf(28), true]);
});

bounded('is refused when an engine is unavailable', async () => {
  const { ports } = engines(30, ({ instanceId }) => {
    if (instanceId === idOf(29)) throw faultFor('engine_unavailable', 'no owner');
  });
  const outcome = instanceUsage(ports, 'accountOfAda').catch((error: unknown) => toFault(error));
  assert.is(((await outcome) as Fault).reason, 'engine_unavailable');
});

bounded.run();
