import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, observationAt, openScene } from '#test/support/calls/scene';

/*
 * Every test checks that answers contain exactly the documented fields: the schemas in the API
 * document are strict (test/support/calls/api-document.ts).
 */

const { caller, close } = await openScene();
const id = await caller.createInstance();
const instance = async () => (await caller.send('GET', `/instances/${id}`)).body.data;
const before = await instance();

const FOREIGN_FIELDS = {
  id: 'inst_0123456789abcdef',
  account_id: 'AAAAAAAAAAAA',
  created_at: '2020-01-01T00:00:00Z',
  updated_at: '2020-01-01T00:00:00Z',
  cycle_count: 99,
  energy_level: 1,
  stress_state: 'OVER',
  stability_index: 0,
  mode_strengths: { order: 1 },
  initial_config: { energy_level: 1 },
  version: 7,
  plan: 'enterprise',
  constructor: {},
  toString: 'x',
  hasOwnProperty: 1,
};

const patched = suite('changing an instance');

for (const [field, value] of Object.entries(FOREIGN_FIELDS)) {
  patched(`with ${field} is refused with 422 and changes nothing`, async () => {
    const body = JSON.stringify({ name: 'changed', [field]: value });
    const answer = await caller.send('PATCH', `/instances/${id}`, { body });
    assertRefused(answer, 422, 'invalid_request', { field, reason: 'unknown_field' });
    assert.equal(await instance(), before);
  });
}

const created = suite('creating an instance');

for (const [field, value] of Object.entries(FOREIGN_FIELDS)) {
  if (field === 'initial_config') continue;
  created(`with ${field} is refused with 422`, async () => {
    const body = JSON.stringify({ name: 'new', [field]: value });
    const answer = await caller.send('POST', '/instances', { body });
    assertRefused(answer, 422, 'invalid_request', { field, reason: 'unknown_field' });
  });
}

created('with a foreign field creates nothing', async () => {
  assert.is((await caller.send('GET', '/instances')).body.pagination.total, 1);
});

const observed = suite('an observation');

for (const [field, value] of Object.entries({ cycle: 5, instance_id: id, drift: 'D0', dt: 9 })) {
  observed(`with ${field} is refused with 422, alone and in a batch`, async () => {
    const json = observationAt(1, { [field]: value });
    const alone = await caller.send('POST', `/instances/${id}/process`, { json });
    assertRefused(alone, 422, 'invalid_request', { field, reason: 'unknown_field' });
    const observations = [observationAt(0), json];
    const batch = await caller.send('POST', `/instances/${id}/process/batch`, {
      json: { observations },
    });
    const details = { field: `observations[1].${field}`, reason: 'unknown_field' };
    assertRefused(batch, 422, 'invalid_request', details);
    assert.equal(await instance(), before);
  });
}

const prototypes = suite('a key that names a prototype');

const POISON = '"__proto__":{"isAdmin":true,"name":"poison"}';
const BUILT = '"constructor":{"prototype":{"isAdmin":true}}';
const PLACES: Record<string, readonly [method: string, path: string, body: string]> = {
  'a create': ['POST', '/instances', '{"name":"a",PLACE}'],
  'an initial configuration': ['POST', '/instances', '{"name":"a","initial_config":{PLACE}}'],
  'mode strengths': [
    'POST',
    '/instances',
    '{"name":"a","initial_config":{"mode_strengths":{PLACE}}}',
  ],
  'a change': ['PATCH', `/instances/${id}`, '{PLACE}'],
  'an observation': [
    'POST',
    `/instances/${id}/process`,
    '{"mode_target":"ORDER","signal_strength":1,PLACE}',
  ],
  'a context': [
    'POST',
    `/instances/${id}/process`,
    '{"mode_target":"ORDER","signal_strength":1,"context":{"a":[{PLACE}]}}',
  ],
  'a batch': [
    'POST',
    `/instances/${id}/process/batch`,
    '{"observations":[{"mode_target":"ORDER","signal_strength":1,PLACE}]}',
  ],
  'a reset': ['POST', `/instances/${id}/reset`, '{"mode":"initial",PLACE}'],
  'a test answer': ['POST', '/test/submit', '{"answers":[{"question_id":"q","value":1,PLACE}]}'],
};

for (const [place, [method, path, template]] of Object.entries(PLACES)) {
  for (const poison of [POISON, POISON.replace('__proto__', '\\u005f_proto__'), BUILT]) {
    prototypes(`in ${place} is refused with 422: ${poison.slice(0, 16)}`, async () => {
      const answer = await caller.send(method, path, { body: template.replace('PLACE', poison) });
      assert.is(answer.status, 422, answer.text);
      assert.is(answer.body.details.reason, 'unknown_field');
      assert.equal(await instance(), before);
    });
  }
}

prototypes('in a query is refused with 400', async () => {
  for (const query of ['__proto__=1', '__proto__[limit]=1', 'constructor=1', 'toString=1']) {
    const answer = await caller.send('GET', `/instances?${query}`);
    assert.is(answer.status, 400, query);
    assert.is(answer.body.details.reason, 'unknown_parameter');
  }
});

prototypes('changes no prototype', async () => {
  const answer = await caller.send('POST', '/instances', { json: {} });
  assertRefused(answer, 422, 'invalid_request', { field: 'name', reason: 'missing_field' });
});

prototypes('is accepted as a plain value', async () => {
  const context = { constructor: 'Ada', text: '__proto__', prototype: 1 };
  const json = observationAt(0, { context });
  assert.is((await caller.send('POST', `/instances/${id}/process`, { json })).status, 200);
  const { data } = (await caller.send('GET', `/instances/${id}/history`)).body;
  assert.equal(data[0].context, context);
});

prototypes.after(close);

for (const each of [patched, created, observed, prototypes]) each.run();
