import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hidesFromOthers } from '#test/api/instances/one-instance';
import { assertRefused, observationAt, sharedScene } from '#test/support/calls/scene';

const scene = await sharedScene();
const { caller } = scene;
const patch = (id: string, json: unknown) => caller.send('PATCH', `/instances/${id}`, { json });
const get = async (id: string) => (await caller.send('GET', `/instances/${id}`)).body.data;

const accepted = suite('updating an instance');

accepted('with a new name is answered 200 and keeps the description', async () => {
  const id = await caller.createInstance({ description: 'first' });
  const answer = await patch(id, { name: 'Grace' });
  assert.is(answer.status, 200);
  const { updated_at, ...rest } = answer.body.data;
  assert.equal(rest, { id, name: 'Grace', description: 'first', tags: {} });
  assert.is(updated_at, (await get(id)).updated_at);
  assert.match(answer.headers.get('etag') ?? '', /^"snap_[0-9a-f]{16}"$/);
});

accepted('with a new description keeps the name; an empty description clears it', async () => {
  const id = await caller.createInstance({ description: 'first' });
  assert.equal((await patch(id, { description: 'second' })).body.data.description, 'second');
  assert.is((await patch(id, { description: '' })).body.data.description, '');
  assert.is((await get(id)).name, 'Ada');
});

accepted('with name and description at their maximum lengths is answered 200', async () => {
  const id = await caller.createInstance();
  const fields = { name: '😀'.repeat(100), description: 'x'.repeat(2_000) };
  const { data } = (await patch(id, fields)).body;
  assert.is(data.name, fields.name);
  assert.is(data.description, fields.description);
});

accepted('without any field is answered 200 and keeps name and description', async () => {
  const id = await caller.createInstance({ description: 'd' });
  const { name, description } = (await patch(id, {})).body.data;
  assert.equal({ name, description }, { name: 'Ada', description: 'd' });
});

accepted('changes no field of the snapshot except updated_at', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const before = (await caller.send('GET', `/instances/${id}/snapshot`)).body.data;
  await patch(id, { name: 'Grace' });
  const after = (await caller.send('GET', `/instances/${id}/snapshot`)).body.data;
  assert.equal({ ...after, updated_at: '' }, { ...before, updated_at: '' });
  assert.ok(after.updated_at >= before.updated_at);
});

const refused = suite('an update that breaks a rule');
const id = await caller.createInstance({ description: 'untouched' });

const WRONG: readonly [body: unknown, field: string | undefined, reason: string][] = [
  [{ name: '' }, 'name', 'too_short'],
  [{ name: 'x'.repeat(101) }, 'name', 'too_long'],
  [{ name: null }, 'name', 'wrong_type'],
  [{ description: 'x'.repeat(2_001) }, 'description', 'too_long'],
  [{ description: 1 }, 'description', 'wrong_type'],
  [{ energy_level: 1 }, 'energy_level', 'unknown_field'],
  [{ stress_state: 'LOW' }, 'stress_state', 'unknown_field'],
  [{ cycle_count: 0 }, 'cycle_count', 'unknown_field'],
  [{ mode_strengths: {} }, 'mode_strengths', 'unknown_field'],
  [{ name: 'ok', initial_config: {} }, 'initial_config', 'unknown_field'],
  [[], undefined, 'wrong_type'],
];

for (const [body, field, reason] of WRONG) {
  const what = JSON.stringify(body).slice(0, 40);
  refused(`such as ${what} is answered 422 with ${reason} and changes nothing`, async () => {
    const details = field === undefined ? { reason } : { field, reason };
    assertRefused(await patch(id, body), 422, 'invalid_request', details);
    const { name, description } = await get(id);
    assert.equal({ name, description }, { name: 'Ada', description: 'untouched' });
  });
}

hidesFromOthers(
  refused,
  scene,
  (of, asked) => of.send('PATCH', `/instances/${asked}`, { json: { name: 'x' } }),
  () => id,
  ['nonsense'],
);

for (const each of [accepted, refused]) each.run();
