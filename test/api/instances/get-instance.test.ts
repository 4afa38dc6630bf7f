import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, observationAt, sharedScene } from '#test/support/calls/scene';

const { caller, newCaller } = await sharedScene();
const get = (id: string) => caller.send('GET', `/instances/${id}`);

const present = suite('getting an instance');

present('is answered 200 with exactly the documented fields', async () => {
  const made = await caller.send('POST', '/instances', { json: { name: 'Ada', description: 'd' } });
  const { id, created_at } = made.body.data;
  const answer = await get(id);
  assert.is(answer.status, 200);
  assert.equal(answer.body, {
    data: {
      id,
      name: 'Ada',
      description: 'd',
      tags: {},
      created_at,
      updated_at: created_at,
      cycle_count: 0,
      energy_level: 0.8,
      stress_state: 'LOW',
      stability_index: 1,
      model_version: '1.1',
    },
  });
  assert.is(answer.headers.get('etag'), made.headers.get('etag'));
});

present('shows the state after the last cycle', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const stressed = observationAt(60, { mode_target: 'STRESS_RESPONSE', signal_strength: 1 });
  const { snapshot } = await caller.process(id, stressed);
  const { data } = (await get(id)).body;
  assert.is(data.cycle_count, 2);
  assert.is(data.energy_level, snapshot.energy_level);
  assert.is(data.stress_state, snapshot.stress_state);
  assert.is(data.stability_index, snapshot.stability_index);
});

present('has the same updated_at in every answer after a change', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const snapshot = (await caller.send('GET', `/instances/${id}/snapshot`)).body.data;
  const instance = (await get(id)).body.data;
  assert.is(instance.updated_at, snapshot.updated_at);
  assert.is(instance.created_at, snapshot.created_at);
  assert.ok(instance.updated_at >= instance.created_at);
  await caller.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
  const after = (await get(id)).body.data;
  assert.ok(after.updated_at >= instance.updated_at);
  assert.is(after.cycle_count, 0);
});

const absent = suite('getting an instance that does not exist');

absent('is answered 404 with the same body, whatever the reason', async () => {
  const other = await newCaller();
  const foreignId = await other.createInstance();
  const deletedId = await caller.createInstance();
  await caller.send('DELETE', `/instances/${deletedId}`);
  const ids = [
    'inst_0123456789abcdef',
    foreignId,
    deletedId,
    'inst_XYZ',
    'x',
    'inst_0123456789ABCDEF',
  ];
  const bodies = new Set<string>();
  for (const id of ids) {
    const answer = await get(id);
    assertRefused(answer, 404, 'not_found');
    bodies.add(answer.text);
  }
  assert.is(bodies.size, 1);
});

absent('with a query parameter is answered 400 with the parameter’s name', async () => {
  const answer = await caller.send('GET', `/instances/inst_0123456789abcdef?fields=id`);
  const details = { field: 'fields', reason: 'unknown_parameter' };
  assertRefused(answer, 400, 'invalid_request', details);
});

for (const each of [present, absent]) each.run();
