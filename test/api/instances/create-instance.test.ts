import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODE_KEYS } from '#identity/modes';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const create = (json: unknown) => caller.send('POST', '/instances', { json });
const snapshotOf = async (id: string) =>
  (await caller.send('GET', `/instances/${id}/snapshot`)).body.data;

const accepted = suite('creating an instance');

accepted('with only a name answers 201 with defaults, Location and ETag', async () => {
  const beforeMs = Date.now();
  const answer = await create({ name: 'Ada' });
  assert.is(answer.status, 201);
  const { data } = answer.body;
  const fields = ['id', 'name', 'description', 'tags', 'created_at', 'updated_at'];
  assert.equal(Object.keys(data), fields);
  assert.match(data.id, /^inst_[0-9a-f]{16}$/);
  assert.is(data.name, 'Ada');
  assert.is(data.description, '');
  assert.equal(data.tags, {});
  assert.match(data.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.is(data.updated_at, data.created_at);
  assert.ok(Math.abs(Date.parse(data.created_at) - beforeMs) < 5_000);
  assert.is(answer.headers.get('location'), `/v1/instances/${data.id}`);
  assert.match(answer.headers.get('etag') ?? '', /^"snap_[0-9a-f]{16}"$/);
});

accepted('without a configuration creates a neutral identity of energy 0.8', async () => {
  const snapshot = await snapshotOf(await caller.createInstance());
  assert.equal(snapshot.mode_strengths, Object.fromEntries(MODE_KEYS.map((key) => [key, 0])));
  assert.is(snapshot.energy_level, 0.8);
  assert.is(snapshot.stress_state, 'LOW');
  assert.is(snapshot.stability_index, 1);
  assert.is(snapshot.cycle, 0);
});

accepted('with some strengths sets the others to 0', async () => {
  const config = { mode_strengths: { order: 0.75, stress_response: 1 }, energy_level: 0 };
  const snapshot = await snapshotOf(await caller.createInstance({ initial_config: config }));
  const expected = { ...Object.fromEntries(MODE_KEYS.map((key) => [key, 0])) };
  assert.equal(snapshot.mode_strengths, { ...expected, order: 0.75, stress_response: 1 });
  assert.is(snapshot.energy_level, 0);
});

accepted('treats an empty configuration like a missing one', async () => {
  for (const config of [{}, { mode_strengths: {} }]) {
    const snapshot = await snapshotOf(await caller.createInstance({ initial_config: config }));
    assert.is(snapshot.energy_level, 0.8);
  }
});

accepted('keeps name and description exactly, including spaces', async () => {
  const fields = { name: '  Ada\t✨ ', description: 'line\nline "quoted" \\ é' };
  const answer = await create(fields);
  assert.is(answer.body.data.name, fields.name);
  assert.is(answer.body.data.description, fields.description);
});

accepted('counts the characters of a name in code points: 100 emoji are answered 201', async () => {
  assert.is((await create({ name: '😀'.repeat(100) })).status, 201);
  assert.is((await create({ name: 'x', description: '😀'.repeat(2_000) })).status, 201);
});

accepted('accepts a persona’s profile unchanged', async () => {
  const persona = await caller.send('GET', '/personas/persona_leader');
  const config = { mode_strengths: persona.body.data.mode_profile };
  const snapshot = await snapshotOf(await caller.createInstance({ initial_config: config }));
  assert.equal(snapshot.mode_strengths, persona.body.data.mode_profile);
});

accepted('twice with the same name creates two instances', async () => {
  assert.is.not(await caller.createInstance(), await caller.createInstance());
});

const refused = suite('a create request that breaks a rule');

const WRONG: readonly [what: string, body: unknown, field: string | undefined, reason: string][] = [
  ['no name', {}, 'name', 'missing_field'],
  ['null for a name', { name: null }, 'name', 'wrong_type'],
  ['a number for a name', { name: 7 }, 'name', 'wrong_type'],
  ['an empty name', { name: '' }, 'name', 'too_short'],
  ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name', 'too_long'],
  ['a name of 101 emoji', { name: '😀'.repeat(101) }, 'name', 'too_long'],
  ['half a surrogate pair', { name: 'a\ud800' }, 'name', 'invalid_text'],
  [
    'a description of 2,001 characters',
    { name: 'x', description: 'x'.repeat(2_001) },
    'description',
    'too_long',
  ],
  ['a description that is null', { name: 'x', description: null }, 'description', 'wrong_type'],
  ['an unknown field', { name: 'x', nmae: 'x' }, 'nmae', 'unknown_field'],
  ['an id', { name: 'x', id: 'inst_0000000000000000' }, 'id', 'unknown_field'],
  ['a config that is a list', { name: 'x', initial_config: [] }, 'initial_config', 'wrong_type'],
  [
    'an unknown field of the config',
    { name: 'x', initial_config: { stress: 1 } },
    'initial_config.stress',
    'unknown_field',
  ],
  [
    'energy above 1',
    { name: 'x', initial_config: { energy_level: 1.0001 } },
    'initial_config.energy_level',
    'out_of_range',
  ],
  [
    'energy below 0',
    { name: 'x', initial_config: { energy_level: -0.1 } },
    'initial_config.energy_level',
    'out_of_range',
  ],
  [
    'energy as text',
    { name: 'x', initial_config: { energy_level: '0.5' } },
    'initial_config.energy_level',
    'wrong_type',
  ],
  [
    'a strength above 1',
    { name: 'x', initial_config: { mode_strengths: { order: 1.1 } } },
    'initial_config.mode_strengths.order',
    'out_of_range',
  ],
  [
    'a mode in capitals',
    { name: 'x', initial_config: { mode_strengths: { ORDER: 1 } } },
    'initial_config.mode_strengths.ORDER',
    'unknown_field',
  ],
  ['a list as the body', [], undefined, 'wrong_type'],
  ['null as the body', null, undefined, 'wrong_type'],
];

for (const [what, body, field, reason] of WRONG) {
  refused(`with ${what} is answered 422 with the name of the field`, async () => {
    const details = field === undefined ? { reason } : { field, reason };
    assertRefused(await create(body), 422, 'invalid_request', details);
  });
}

refused('with a query parameter is answered 400', async () => {
  const answer = await caller.send('POST', '/instances?x=1', { json: { name: 'x' } });
  const details = { field: 'x', reason: 'unknown_parameter' };
  assertRefused(answer, 400, 'invalid_request', details);
});

refused('creates no instance', async () => {
  const before = (await caller.send('GET', '/instances?limit=1')).body.pagination.total;
  await create({ name: '' });
  const after = (await caller.send('GET', '/instances?limit=1')).body.pagination.total;
  assert.is(after, before);
});

for (const each of [accepted, refused]) each.run();
