import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer } from '#test/support/calls/caller';
import { observationAt, sharedScene } from '#test/support/calls/scene';

const { caller, newCaller } = await sharedScene();

const OBSERVATION = { mode_target: 'EXPLORATION', signal_strength: 0.9 };

const simulate = (id: string, observations: readonly object[], headers = {}) =>
  caller.send('POST', `/instances/${id}/simulate`, { json: { observations }, headers });

const refusalOf = ({ status, body }: Answer) => [status, body.error];

/** Returns all answers about an instance, each with its ETag and the remaining cycles. */
async function everythingOf(id: string) {
  const paths = ['', '/snapshot', '/contract', '/history?generation=all', '/drift'];
  const seen = [];
  for (const path of paths) {
    const { body, headers } = await caller.send('GET', `/instances/${id}${path}`);
    seen.push([path, body, headers.get('etag'), headers.get('x-monthly-remaining')]);
  }
  return seen;
}

const simulated = suite('simulated observations');

simulated('are answered with the state after each observation', async () => {
  const id = await caller.createInstance();
  const { status, body } = await simulate(id, [OBSERVATION, OBSERVATION, OBSERVATION]);
  assert.is(status, 200);
  assert.equal(Object.keys(body.data), ['states', 'processed_count']);
  assert.is(body.data.processed_count, 3);
  const cycles = body.data.states.map(
    (state: ReturnType<typeof JSON.parse>) => state.snapshot.cycle,
  );
  assert.equal(cycles, [1, 2, 3]);
});

simulated('do not change the instance, and cost no cycle', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const before = await everythingOf(id);
  const { headers } = await simulate(id, Array(20).fill({ ...OBSERVATION, signal_strength: 1 }));
  assert.is(headers.get('etag'), before[0]?.[2]);
  assert.equal(await everythingOf(id), before);
});

simulated('give the same states as the same real observations', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const observations = Array.from({ length: 20 }, (_, index) => observationAt(1 + index));
  const { body: foreseen } = await simulate(id, observations);
  const { body: real } = await caller.send('POST', `/instances/${id}/process/batch`, {
    json: { observations, include_intermediate: true },
  });
  assert.equal(foreseen, real);
});

simulated('without times are not throttled, even right after a real observation', async () => {
  const id = await caller.createInstance();
  await caller.process(id, { ...OBSERVATION });
  const { status, body, headers } = await simulate(id, [OBSERVATION, OBSERVATION]);
  assert.equal([status, body.data.processed_count], [200, 2]);
  assert.is(headers.get('x-throttled'), null);
});

simulated('cost one request', async () => {
  const other = await newCaller({ requestsPerMinute: 50, cyclesPerMonth: 50 });
  const id = await other.createInstance();
  const left = async (): Promise<number> => {
    const path = `/instances/${id}/simulate`;
    const { headers } = await other.send('POST', path, { json: { observations: [OBSERVATION] } });
    assert.is(headers.get('x-monthly-remaining'), '50');
    return Number(headers.get('x-ratelimit-remaining'));
  };
  assert.is((await left()) - (await left()), 1);
});

simulated('are allowed with a read-only key', async () => {
  const reader = await newCaller({ scope: 'read' });
  const path = '/instances/inst_00000000000000ff/simulate';
  const answer = await reader.send('POST', path, { json: { observations: [OBSERVATION] } });
  assert.equal(refusalOf(answer), [404, 'not_found']);
});

const refused = suite('a simulation');

refused('whose first time is too early is refused with 422, not throttled', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(5));
  const { status, body, headers } = await simulate(id, [observationAt(5)]);
  assert.is(status, 422);
  const { field, reason } = body.details;
  assert.equal([field, reason], ['observations[0].timestamp', 'timestamp_order']);
  assert.is(headers.get('x-throttled'), null);
});

refused('of another account’s instance is answered like an unknown instance', async () => {
  const id = await (await newCaller()).createInstance();
  assert.equal(refusalOf(await simulate(id, [OBSERVATION])), [404, 'not_found']);
});

for (const [what, observations] of [
  ['no observation', []],
  ['21 observations', Array(21).fill(OBSERVATION)],
  ['observations with and without times', [observationAt(0), OBSERVATION]],
  ['observations in descending order', [observationAt(3), observationAt(2)]],
  ['a mode that does not exist', [{ ...OBSERVATION, mode_target: 'JOY' }]],
] as const) {
  refused(`of ${what} is refused with 422`, async () => {
    const id = await caller.createInstance();
    assert.equal(refusalOf(await simulate(id, observations)), [422, 'invalid_request']);
  });
}

for (const each of [simulated, refused]) each.run();
