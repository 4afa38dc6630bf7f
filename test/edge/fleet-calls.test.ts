import { setImmediate } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FleetItem } from '#edge/endpoints/endpoint';
import { CallIds, EngineCalls } from '#edge/serve/engine-calls';
import { FleetCalls } from '#edge/serve/fleet';
import { Fault, faultFor } from '#errors/fault';
import { type EngineAnswer, type EngineCall, plainAnswer } from '#grpc/engine-messages';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { ManualClock } from '#test/support/manual-clock';

type Json = ReturnType<typeof JSON.parse>;
type Engine = (call: EngineCall) => EngineAnswer | Promise<EngineAnswer>;

const CALLER = { accountId: 'AdaAdaAdaAda', credential: 'a digest' };

const applied: Engine = () => {
  const snapshot = { cycle: 1, stress_state: 'LOW', stability_index: 1 };
  const contract = { allowed_actions: ['explore'], forbidden_actions: [] };
  const body = { data: { snapshot, contract, drift: { level: 'D0', deviation: {} } } };
  return { ...plainAnswer(JSON.stringify(body)), cycles: 1 };
};

const idOf = (n: number) => `inst_${n.toString(16).padStart(16, '0')}`;

const item = (n: number): FleetItem => ({
  kind: 'observation',
  instanceId: idOf(n),
  observation: { mode: 0, signal: 1, confidence: 1, contextJson: '{}', timestampMs: undefined },
  idempotency: undefined,
});

/** Fleet calls of an edge whose engines answer like `engine`. */
function fleetOn(engine: Engine) {
  const clock = new ManualClock();
  const secrets = unchanging(['a secret']);
  const counts: [string, number][] = [];
  const failures: string[] = [];
  const fleet = new FleetCalls({
    ...{ clock, callIds: new CallIds(secrets) },
    engine: new EngineCalls({ ask: engine }, clock, systemRandomness, secrets),
    counted: (status, count) => counts.push([status, count]),
  });
  const process = async (items: readonly FleetItem[], cycles = items.length) => {
    const call = { caller: CALLER, address: '::1', callId: 1, callTag: 0, isKeyed: false } as const;
    const request = { items, cycles, requests: 1, isStateWanted: false };
    const answer = await fleet.process(
      request,
      { ...call, scope: 'full', cycles },
      { headers: {}, refusal: undefined, allowance: undefined, description: undefined, cycles },
      { requestId: 'a request', onFailure: ({ code }) => failures.push(code) },
    );
    const { data } = JSON.parse(Buffer.from(answer.body).toString()) as Json;
    return { ...answer, data, statuses: data.results.map(({ status }: Json) => status) };
  };
  return { fleet, clock, process, counts, failures };
}

const failing = suite('a fleet call with engines that fail');

for (const [what, fault, status, retry, charged] of [
  [
    'a late engine',
    faultFor('deadline_exceeded', 'late', { isOutcomeUnknown: true }),
    ...(['unknown', 'same_key', 1] as const),
  ],
  ['an engine that refuses', faultFor('engine_unavailable', 'away'), 'refused', 'after', 0],
  ['an engine with a bug', new Error('a bug'), 'unknown', 'same_key', 1],
] as const) {
  failing(`answers for the other engines, with ${what}`, async () => {
    const { process, failures, counts } = fleetOn((call) => {
      if (call.instanceId === idOf(1)) throw fault;
      return applied(call);
    });
    const answer = await process([item(0), item(1), item(2), item(1), item(0)]);
    assert.equal(answer.statuses, ['applied', status, 'applied', 'not_attempted', 'applied']);
    assert.is(answer.data.results[1].retry, retry);
    assert.equal([answer.cyclesUsed, answer.cyclesUnknown], [3, charged]);
    assert.equal(failures, [fault instanceof Fault ? 'service_unavailable' : 'internal']);
    assert.equal(counts.toSorted(), [
      ['applied', 3],
      ['not_attempted', 1],
      [status, 1],
    ]);
  });
}

failing('attempts nothing after the deadline of the call', async () => {
  const { process, clock } = fleetOn((call) => {
    clock.advance(6_000);
    return applied(call);
  });
  const { statuses } = await process([item(0), item(0), item(0)]);
  assert.equal(statuses, ['applied', 'applied', 'not_attempted']);
});

failing('gives all engine calls the deadline of the call', async () => {
  const deadlines: number[] = [];
  const { process, clock } = fleetOn((call) => {
    deadlines.push(call.deadlineAtMs - clock.wallMs());
    clock.advance(3_000);
    return applied(call);
  });
  await process([item(0), item(0), item(0)]);
  assert.equal(deadlines, [8_000, 5_000, 2_000]);
});

const charge = suite('the cycles of a fleet call');

charge('include a replay that may be the answer to a lost attempt of this call', async () => {
  const { process } = fleetOn((call) => ({
    ...(applied(call) as EngineAnswer),
    ...{ cycles: 0, isReplayed: true, isPerhapsOwn: true },
  }));
  const { cyclesUsed, cyclesUnknown } = await process([item(0)]);
  assert.equal([cyclesUsed, cyclesUnknown], [0, 1]);
});

// Cycles of other observations were charged for observations that no engine could apply.
charge('include no unknown outcome without a granted cycle', async () => {
  const { process } = fleetOn(() => {
    throw faultFor('deadline_exceeded', 'late', { isOutcomeUnknown: true });
  });
  const keyed = { ...item(1), idempotency: { key: 'k', fingerprint: 'f' } } as FleetItem;
  const { statuses, cyclesUnknown } = await process([item(0), keyed], 1);
  assert.equal([statuses, cyclesUnknown], [['unknown', 'unknown'], 1]);
});

charge('are asked for only as many observations as the limiter granted', async () => {
  let asked = 0;
  const { process } = fleetOn((call) => {
    asked += 1;
    return applied(call);
  });
  const { statuses } = await process([item(0), item(1), item(2)], 2);
  assert.equal([asked, statuses], [2, ['applied', 'applied', 'refused']]);
});

const fair = suite('fleet calls in an edge');

fair('are at most 16 at the same time, and 4 of an account', () => {
  const { fleet } = fleetOn(applied);
  const places = Array.from({ length: 16 }, (_, n) => fleet.begin(`account ${n % 4}`));
  assert.throws(() => fleet.begin('account 5'), /too many fleet calls/);
  places[0]?.[Symbol.dispose]();
  assert.throws(() => fleet.begin('account 1'), /too many fleet calls/);
  fleet.begin('account 0');
});

// A thousand answers of engines in the same process kept all other calls waiting.
fair('let other work run between engine calls that take time', async () => {
  const { process, clock } = fleetOn((call) => {
    clock.advance(1);
    return applied(call);
  });
  let turns = 0;
  let isOver = false;
  const others = (async () => {
    while (!isOver) {
      await setImmediate();
      turns += 1;
    }
  })();
  await process(Array.from({ length: 200 }, (_, n) => item(n)));
  isOver = true;
  await others;
  assert.ok(turns >= 50, `${turns} turns`);
});

// A call that asked for all instances at once would fill the queues of its engines.
fair('wait for 64 instances at the same time, and never for two observations of one', async () => {
  const waiting: string[] = [];
  let most = 0;
  const { process } = fleetOn(async (call) => {
    assert.not(waiting.includes(call.instanceId));
    waiting.push(call.instanceId);
    most = Math.max(most, waiting.length);
    await setImmediate();
    waiting.splice(waiting.indexOf(call.instanceId), 1);
    return applied(call);
  });
  const { statuses } = await process(Array.from({ length: 300 }, (_, n) => item(n % 150)));
  assert.is(most, 64);
  assert.ok(statuses.every((status: string) => status === 'applied'));
});

for (const each of [failing, charge, fair]) each.run();
