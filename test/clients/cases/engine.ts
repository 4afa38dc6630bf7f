import { aLivedInstance, anInstance, ORDER, processing } from '#test/clients/cases/endpoints';
import type { Tape } from '#test/clients/cases/tape';
import type { Call } from '#test/clients/cases/wire-case';

/** Cases of the engine: process, batch, reads, reset, simulate. */
export async function engineCases(tape: Tape): Promise<void> {
  const instance = await anInstance(tape);
  await processCases(tape, instance);
  await batchCases(tape, instance);
  const etag = await readCases(tape, instance);
  const reset = (mode: string, options = {}): Call => {
    return { method: 'instance.reset', instance, arguments: { mode }, options };
  };
  await tape.record('reset: If-Match of an older version', reset('initial', { if_match: etag }), {
    expect: {},
  });
  await pastCases(tape, instance);
  const key = { idempotency_key: tape.newKey() };
  await tape.record('reset: to the initial state', reset('initial', key));
  await tape.record('reset: the same key again is a replay', reset('initial', key));
  await tape.record('reset: to the last stable state', reset('default'));
}

async function processCases(tape: Tape, instance: string): Promise<void> {
  const options = { idempotency_key: tape.newKey() };
  const timestamp = '2026-01-15T11:59:00.000Z';
  const observation = { ...ORDER, context: { tool: 'calendar', turn: 3 }, timestamp };
  const call = processing(instance, observation, options);
  await tape.record('process: an observation', call);
  await tape.record('process: the same key again is a replay', call);
  await tape.record('process: without options', processing(instance));
  await tape.record(
    'process: an early observation is throttled in the result',
    processing(instance),
  );
  const strict = processing(instance, ORDER, { strict: true });
  await tape.record('process: an early observation with strict is an error', strict);
  tape.service.wait(5_000);
  await tape.record('process: a timely observation with strict', strict);
}

async function batchCases(tape: Tape, instance: string): Promise<void> {
  const at = (second: number) => `2026-01-15T12:0${second}:00.000Z`;
  tape.service.wait(600_000);
  const observations = [
    { ...ORDER, timestamp: at(2) },
    { mode_target: 'CONNECTION', signal_strength: 0.4, timestamp: at(3) },
  ];
  const batch = (args: object, options = {}): Call => {
    return { method: 'instance.process_batch', instance, arguments: { ...args }, options };
  };
  const key = { idempotency_key: tape.newKey() };
  const together = batch({ observations }, key);
  await tape.record('batch: the last state', together);
  await tape.record('batch: the same key again is a replay', together);
  await tape.record('batch: an early batch is throttled in the result', batch({ observations }));
  await tape.record(
    'batch: an early batch with strict is an error',
    batch({ observations }, { strict: true }),
  );
  tape.service.wait(600_000);
  const every = batch({ observations: [ORDER, ORDER], include_intermediate: true });
  await tape.record('batch: every state', every);
  await keyedItemCases(tape, instance);
  await fleetCases(tape, instance);
}

/** Cases of batch items with keys. */
async function keyedItemCases(tape: Tape, instance: string): Promise<void> {
  const at = (second: number) => `2026-01-15T12:40:0${second}.000Z`;
  const item = (second: number, idempotency_key: string) => {
    return { ...ORDER, timestamp: at(second), idempotency_key };
  };
  const batch = (...observations: readonly object[]): Call => {
    return { method: 'instance.process_batch', instance, arguments: { observations } };
  };
  tape.service.wait(3_600_000);
  const log = [item(1, 'log-1'), item(2, 'log-2')];
  await tape.record('batch: items with keys', batch(...log));
  await tape.record('batch: applied items are replayed', batch(...log));
  const more = batch(...log, item(3, 'log-3'));
  await tape.record('batch: some items are replayed', more);
  const early = batch(item(1, 'log-1'), item(2, 'log-early'));
  await tape.record('batch: items are replayed or throttled', early);
  const reused = batch(item(8, 'log-8'), item(9, 'log-1'));
  await tape.record('batch: the key of another observation', reused, { expect: {} });
}

/** Cases of fleet calls. */
async function fleetCases(tape: Tape, instance: string): Promise<void> {
  const at = (second: number, instance_id: string, idempotency_key: string) => {
    const timestamp = `2026-01-15T13:50:0${second}.000Z`;
    return { ...ORDER, instance_id, timestamp, idempotency_key };
  };
  const other = await anInstance(tape);
  const fleet = (observations: readonly object[], args = {}): Call => {
    return { method: 'client.process', arguments: { observations, ...args } };
  };
  tape.service.wait(7_200_000);
  const observations = [at(1, instance, 'fleet-1'), at(1, other, 'fleet-2')];
  await tape.record('fleet: two instances', fleet(observations));
  const more = [...observations, at(0, other, 'fleet-3'), at(3, other, 'fleet-4')];
  await tape.record('fleet: items are replayed, refused and not attempted', fleet(more));
  const states = fleet([at(4, instance, 'fleet-5')], { include_state: true });
  await tape.record('fleet: with the states', states);
  await tape.record('fleet: a call without observations', fleet([]), { expect: {} });
}

/** Cases of past states and forks. */
async function pastCases(tape: Tape, instance: string): Promise<void> {
  const states = (args: object, of = instance): Call => {
    return { method: 'instance.states', instance: of, arguments: { ...args } };
  };
  const fork = (args: object, options = {}): Call => {
    return { method: 'instance.fork', instance, arguments: { name: 'Fork', ...args }, options };
  };
  await tape.record('states: at two cycles', states({ cycles: [3, 0] }));
  await tape.record('states: stored states', states({ points: 5, generation: 1 }));
  await tape.record('states: an unknown cycle', states({ cycles: [9_000] }), { expect: {} });
  const key = { idempotency_key: tape.newKey() };
  const call = fork({ cycle: 3, description: 'another future', tags: { of: 'a fork' } }, key);
  await tape.record('fork: in the state after a cycle', call);
  await tape.record('fork: the same key again is a replay', call);
  const { id } = await tape.play(fork({ cycle: 2, generation: 1 }));
  const before = states({ cycles: [1] }, id);
  await tape.record('states: before the cycle of a fork', before, { expect: {} });
}

/** Records reads. Returns the ETag of the state that was read. */
async function readCases(tape: Tape, instance: string): Promise<string> {
  const read = (method: 'instance.snapshot' | 'instance.contract', options = {}): Call => {
    return { method, instance, options };
  };
  await tape.record('snapshot: the present state', read('instance.snapshot'));
  await tape.record('contract: the present contract', read('instance.contract'));
  const { answer } = await tape.exchange(read('instance.contract'));
  const etag = typeof answer === 'string' ? '' : (answer.headers['etag'] ?? '');
  const unchanged = { if_none_match: etag };
  await tape.record('snapshot: not modified', read('instance.snapshot', unchanged));
  await tape.record('contract: not modified', read('instance.contract', unchanged));
  const simulated = { observations: [ORDER, { mode_target: 'IDENTITY', signal_strength: 0.2 }] };
  const call: Call = { method: 'instance.simulate', instance, arguments: simulated };
  await tape.record('simulate: two observations', call);
  tape.service.wait(5_000);
  await tape.play(processing(instance));
  const lived = await aLivedInstance(tape, 8);
  await tape.record('snapshot: under stress', { method: 'instance.snapshot', instance: lived });
  await tape.record('contract: under stress', { method: 'instance.contract', instance: lived });
  return etag;
}
