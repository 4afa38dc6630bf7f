import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { changesNothing, hidesFromOthers } from '#test/api/instances/one-instance';
import { assertRefused, observationAt, sharedScene } from '#test/support/calls/scene';

const scene = await sharedScene();
const { caller, newCaller } = scene;

type Json = ReturnType<typeof JSON.parse>;

const states = (id: string, query = '', of = caller) =>
  of.send('GET', `/instances/${id}/states${query}`);

const reset = (id: string, mode: string) =>
  caller.send('POST', `/instances/${id}/reset`, { json: { mode } });

/** Observations of all modes, `count` of them, from second `from` on. */
const observations = (from: number, count: number): Json[] => {
  const modes = ['ORDER', 'STRESS_RESPONSE', 'EXPLORATION', 'ASSERTION', 'CONNECTION'];
  return Array.from({ length: count }, (_, n) => {
    const fields = { mode_target: modes[n % modes.length], signal_strength: (n % 11) / 10 };
    return observationAt((from + n) * 5, fields);
  });
};

/** Processes observations, and returns the state after each of them. */
async function processed(id: string, from: number, count: number): Promise<Json[]> {
  const all: Json[] = [];
  for (let done = 0; done < count; done += 100) {
    const some = observations(from + done, Math.min(100, count - done));
    const json = { observations: some, include_intermediate: true };
    const answer = await caller.send('POST', `/instances/${id}/process/batch`, { json });
    assert.is(answer.status, 200, answer.text);
    all.push(...answer.body.data.states);
  }
  return all;
}

const withoutPlace = ({ snapshot, contract, drift }: Json) => ({ snapshot, contract, drift });

const past = suite('past states');

changesNothing(past, scene, (of, id) => of.send('GET', `/instances/${id}/states?cycles=0,1`));
hidesFromOthers(
  past,
  scene,
  (of, id) => of.send('GET', `/instances/${id}/states`),
  () => caller.createInstance(),
  ['no-id'],
);

past('equal the answers of that time, across a reset of each mode', async () => {
  const id = await caller.createInstance();
  const first = await processed(id, 0, 20);
  await reset(id, 'default');
  const second = await processed(id, 100, 5);
  await reset(id, 'initial');
  const { status, body, text } = await states(id, '?cycles=20,1,7&generation=1');
  assert.is(status, 200, text);
  assert.is(body.data.generation, 1);
  assert.equal(body.data.states.map(withoutPlace), [first[19], first[0], first[6]]);
  const { data } = (await states(id, '?cycles=5&generation=2')).body;
  assert.equal(data.states.map(withoutPlace), [second[4]]);
  const [{ timestamp, cycle, model_version }] = data.states;
  assert.equal([timestamp, cycle], [observations(104, 1)[0].timestamp, 5]);
  assert.match(model_version, /^1\./);
});

past('at cycle 0 are the states of the creation and of the reset', async () => {
  const id = await caller.createInstance({ initial_config: { energy_level: 0.6 } });
  const contract = (await caller.send('GET', `/instances/${id}/contract`)).body.data;
  await processed(id, 0, 3);
  await reset(id, 'default');
  const present = (await caller.send('GET', `/instances/${id}/contract`)).body.data;
  await processed(id, 100, 1);
  const [created] = (await states(id, '?cycles=0&generation=1')).body.data.states;
  const [begun] = (await states(id, '?cycles=0')).body.data.states;
  assert.equal([created.contract, created.timestamp], [contract, null]);
  assert.equal([begun.contract, begun.timestamp], [present, null]);
});

past('in steps are stored states from the first to the present', async () => {
  const id = await caller.createInstance();
  await reset(id, 'initial');
  const lived = await processed(id, 0, 800);
  const cyclesOf = async (query: string): Promise<number[]> =>
    (await states(id, query)).body.data.states.map(({ cycle }: Json) => cycle);
  assert.equal(await cyclesOf(''), [0, 256, 512, 768, 800]);
  assert.equal(await cyclesOf('?points=3'), [0, 512, 800]);
  assert.equal(await cyclesOf('?points=1'), [800]);
  const { data } = (await states(id, '?points=2')).body;
  assert.equal(withoutPlace(data.states[1]), lived[799]);
});

const refused = suite('a refused read of past states');

const WRONG = [
  '-1',
  '1.5',
  'x',
  '',
  '1,',
  ',1',
  '1e1',
  '1,2,3,4,5,6,7,8,9,10,11',
  '99999999999999999',
];
for (const cycles of WRONG) {
  refused(`is answered 400 for ?cycles=${cycles}`, async () => {
    const id = await caller.createInstance();
    const details = { field: 'cycles', reason: 'invalid_parameter' };
    assertRefused(await states(id, `?cycles=${cycles}`), 400, 'invalid_request', details);
  });
}

refused('is answered 400 for cycles with points, and for parameters out of range', async () => {
  const id = await caller.createInstance();
  const both = { field: 'cycles', reason: 'invalid_parameter' };
  assertRefused(await states(id, '?cycles=1&points=2'), 400, 'invalid_request', both);
  for (const query of ['points=0', 'points=201', 'generation=0', 'generation=current']) {
    const details = { field: query.split('=')[0], reason: 'invalid_parameter' };
    assertRefused(await states(id, `?${query}`), 400, 'invalid_request', details);
  }
});

refused('is answered 404 for a cycle or a generation that does not exist', async () => {
  const id = await caller.createInstance();
  await processed(id, 0, 4);
  await reset(id, 'default');
  for (const query of [
    'cycles=1',
    'cycles=0&generation=3',
    'cycles=5&generation=1',
    'generation=9',
  ]) {
    const answer = await states(id, `?${query}`);
    assertRefused(answer, 404, 'not_found', { reason: 'unknown_cycle' });
  }
});

refused('is answered 404 after the deletion of the instance', async () => {
  const id = await caller.createInstance();
  await processed(id, 0, 4);
  await caller.send('DELETE', `/instances/${id}`);
  assertRefused(await states(id, '?cycles=1'), 404, 'not_found');
});

refused('has the same refusals for a read-only key', async () => {
  const reader = await newCaller({ scope: 'read' });
  assertRefused(await states('inst_0123456789abcdef', '', reader), 404, 'not_found');
});

for (const each of [past, refused]) each.run();
