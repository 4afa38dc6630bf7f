import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hidesFromOthers } from '#test/api/instances/one-instance';
import {
  assertRefused,
  limitOf,
  observationAt,
  type SceneCaller,
  sharedScene,
} from '#test/support/calls/scene';

const scene = await sharedScene();
const { caller, newCaller } = scene;

type Json = ReturnType<typeof JSON.parse>;

const fork = (id: string, fields: object, key?: string, of: SceneCaller = caller) =>
  of.send('POST', `/instances/${id}/fork`, {
    json: { name: 'Ada, another future', ...fields },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });

const MODES = ['ORDER', 'STRESS_RESPONSE', 'EXPLORATION', 'ASSERTION', 'CONNECTION'];

/** Processes observations `from` to `to`, and returns the state after each of them. */
async function processed(id: string, from: number, to: number, of = caller): Promise<Json[]> {
  const observations = Array.from({ length: to - from + 1 }, (_, index) => {
    const n = from + index;
    const fields = { mode_target: MODES[n % MODES.length], signal_strength: (n % 11) / 10 };
    return observationAt(n * 5, fields);
  });
  const json = { observations, include_intermediate: true };
  const answer = await of.send('POST', `/instances/${id}/process/batch`, { json });
  assert.is(answer.status, 200, answer.text);
  return answer.body.data.states;
}

/** States without the id of their instance. */
const withoutId = (states: readonly Json[]) =>
  states.map(({ snapshot: { instance_id: _, ...snapshot }, contract, drift }) => {
    return { snapshot, contract, drift };
  });

const forks = suite('a fork');

hidesFromOthers(
  forks,
  scene,
  (of, id) => of.send('POST', `/instances/${id}/fork`, { json: { name: 'Eve', cycle: 0 } }),
  () => caller.createInstance(),
  ['no-id'],
);

forks('reaches the states of its parent with the same observations', async () => {
  const parent = await caller.createInstance({
    initial_config: { mode_strengths: { order: 0.9 } },
  });
  const lived = await processed(parent, 1, 40);
  const answer = await fork(parent, { cycle: 25, description: 'what if' });
  assert.is(answer.status, 201, answer.text);
  const { id, forked_from, name, description } = answer.body.data;
  assert.equal(forked_from, { instance_id: parent, generation: 1, cycle: 25 });
  assert.equal([name, description], ['Ada, another future', 'what if']);
  assert.is(answer.headers.get('location'), `/v1/instances/${id}`);
  assert.equal((await caller.send('GET', `/instances/${id}`)).body.data.cycle_count, 25);
  assert.equal(withoutId(await processed(id, 26, 40)), withoutId(lived.slice(25)));
  const later = await processed(parent, 41, 45);
  assert.is(later[4].snapshot.cycle, 45);
});

forks('has its own history, and a past that begins at its cycle', async () => {
  const parent = await caller.createInstance();
  const lived = await processed(parent, 1, 10);
  const { id } = (await fork(parent, { cycle: 6 })).body.data;
  await processed(id, 7, 9);
  const history = (await caller.send('GET', `/instances/${id}/history`)).body;
  assert.equal(
    history.data.map(({ cycle }: Json) => cycle),
    [9, 8, 7],
  );
  const { data } = (await caller.send('GET', `/instances/${id}/states?cycles=6,8`)).body;
  assert.equal(withoutId(data.states), withoutId([lived[5], lived[7]]));
  const before = await caller.send('GET', `/instances/${id}/states?cycles=5`);
  const details = { reason: 'cycle_trimmed', first_cycle: 6 };
  assertRefused(before, 410, 'not_found', details);
});

forks('begins at the start of a generation, whatever began it', async () => {
  const parent = await caller.createInstance({
    initial_config: { mode_strengths: { order: 0.9 } },
  });
  await processed(parent, 1, 30);
  await caller.send('POST', `/instances/${parent}/reset`, { json: { mode: 'default' } });
  const lived = await processed(parent, 31, 40);
  const { body } = await fork(parent, { cycle: 0, generation: 2 });
  const { id } = body.data;
  // The first interval begins with the reset of the parent.
  assert.equal(withoutId(await processed(id, 31, 40)), withoutId(lived));
  const again = (await fork(id, { cycle: 4 })).body.data.id;
  assert.equal(withoutId(await processed(again, 35, 40)), withoutId(lived.slice(4)));
});

forks(
  'is created once by two calls with a key, also after the deletion of its parent',
  async () => {
    const parent = await caller.createInstance();
    await processed(parent, 1, 3);
    const [one, other] = await Promise.all(
      ['same', 'same'].map((key) => fork(parent, { cycle: 2 }, `${key} ${parent}`)),
    );
    assert.is(one?.body.data.id, other?.body.data.id);
    await caller.send('DELETE', `/instances/${parent}`);
    const repeated = await fork(parent, { cycle: 2 }, `same ${parent}`);
    assert.is(repeated.text, one?.text);
    assert.is(repeated.headers.get('idempotent-replayed'), 'true');
    const reused = await fork(parent, { cycle: 1 }, `same ${parent}`);
    const details = { reason: 'idempotency_key_reused', field: 'Idempotency-Key' };
    assertRefused(reused, 422, 'invalid_request', details);
    assertRefused(await fork(parent, { cycle: 2 }), 404, 'not_found');
  },
);

forks('counts as an instance, and costs a request and no cycle', async () => {
  const owner = await newCaller({ instances: 2 });
  const parent = await owner.createInstance();
  await processed(parent, 1, 3, owner);
  const first = await fork(parent, { cycle: 3 }, undefined, owner);
  assert.is(first.status, 201);
  const refused = await fork(parent, { cycle: 3 }, undefined, owner);
  assertRefused(refused, 403, 'forbidden', { reason: 'instance_limit' });
  assert.is(limitOf(refused, 'remaining'), limitOf(first, 'remaining') - 1);
  assert.is(limitOf(refused, 'monthly'), limitOf(first, 'monthly'));
  assert.is((await owner.send('GET', '/instances')).body.pagination.total, 2);
});

forks('leaves a line for itself and for its parent in the audit trail', async () => {
  const owner = await newCaller();
  const parent = await owner.createInstance();
  const { id } = (await fork(parent, { cycle: 0 }, undefined, owner)).body.data;
  const { data } = (await owner.send('GET', '/audit?action=instance.fork')).body;
  assert.equal(
    data.map(({ target, outcome }: Json) => [target, outcome]),
    [
      [id, 'begun'],
      [parent, 'begun'],
    ],
  );
});

forks('is whole or refused while its parent is deleted', async () => {
  const owner = await newCaller();
  const parent = await owner.createInstance();
  const lived = await processed(parent, 1, 50, owner);
  const asked = Array.from({ length: 6 }, () => fork(parent, { cycle: 30 }, undefined, owner));
  const [, ...answers] = await Promise.all([
    owner.send('DELETE', `/instances/${parent}`),
    ...asked,
  ]);
  const made = answers.filter(({ status }) => status === 201);
  for (const { status } of answers) assert.ok(status === 201 || status === 404, `${status}`);
  assert.is((await owner.send('GET', '/instances')).body.pagination.total, made.length);
  for (const { body } of made) {
    assert.equal(
      withoutId(await processed(body.data.id, 31, 50, owner)),
      withoutId(lived.slice(30)),
    );
  }
});

const refused = suite('a refused fork');

refused('creates nothing, and names the reason', async () => {
  const parent = await caller.createInstance();
  await processed(parent, 1, 3);
  assertRefused(await fork(parent, { cycle: 4 }), 404, 'not_found', { reason: 'unknown_cycle' });
  for (const [fields, reason] of [
    [{}, 'missing_field'],
    [{ cycle: -1 }, 'out_of_range'],
    [{ cycle: 1.5 }, 'wrong_type'],
    [{ cycle: '1' }, 'wrong_type'],
  ] as const) {
    const details = { field: 'cycle', reason };
    assertRefused(await fork(parent, fields), 422, 'invalid_request', details);
  }
  const reader = await newCaller({ scope: 'read' });
  const answer = await fork(parent, { cycle: 1 }, undefined, reader);
  assertRefused(answer, 403, 'forbidden', { reason: 'read_only_key' });
});

for (const each of [forks, refused]) each.run();
