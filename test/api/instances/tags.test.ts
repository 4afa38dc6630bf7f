import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const create = (json: object) => caller.send('POST', '/instances', { json });
const get = async (id: string) => (await caller.send('GET', `/instances/${id}`)).body.data;
const patch = (id: string, json: object, headers = {}) =>
  caller.send('PATCH', `/instances/${id}`, { json, headers });
const fork = (id: string, json: object) =>
  caller.send('POST', `/instances/${id}/fork`, { json: { name: 'fork', cycle: 0, ...json } });

const TAGS = { team: 'docs', 'tier.2': '' };

const tags = suite('the tags of an instance');

tags('are in the answers that show its name, and in lists', async () => {
  const made = await create({ name: 'Ada', tags: TAGS });
  assert.is(made.status, 201, made.text);
  const { id } = made.body.data;
  assert.equal(made.body.data.tags, TAGS);
  assert.equal((await get(id)).tags, TAGS);
  assert.equal((await patch(id, { name: 'Grace' })).body.data.tags, TAGS);
  const { data } = (await caller.send('GET', `/instances?search=${id}`)).body;
  assert.equal([data[0].name, data[0].tags], ['Grace', TAGS]);
});

tags('are replaced together, without a change of the texts', async () => {
  const id = await caller.createInstance({ description: 'd', tags: TAGS });
  const replaced = await patch(id, { tags: { team: 'ops' } });
  const { name, description, tags, updated_at } = replaced.body.data;
  assert.equal([name, description, tags], ['Ada', 'd', { team: 'ops' }]);
  const now = await get(id);
  assert.equal([now.tags, now.updated_at], [{ team: 'ops' }, updated_at]);
  await patch(id, { tags: {} });
  assert.equal((await get(id)).tags, {});
});

tags('change the version of the instance', async () => {
  const made = await create({ name: 'Ada' });
  const { id } = made.body.data;
  const headers = { 'if-match': made.headers.get('etag') ?? '' };
  const first = await patch(id, { tags: { n: '1' } }, headers);
  assert.is.not(first.headers.get('etag'), headers['if-match']);
  const second = await patch(id, { tags: { n: '2' } }, headers);
  assertRefused(second, 409, 'conflict', { field: 'If-Match', reason: 'version_mismatch' });
  assert.equal((await get(id)).tags, { n: '1' });
});

tags('have keys that are compared exactly', async () => {
  const given = {
    team: 'a',
    Team: 'b',
    é: 'c',
    'e\u0301': 'd',
    ' ': 'e',
    constructor: 'f',
    1: 'g',
  };
  const id = await caller.createInstance({ tags: given });
  assert.equal(Object.entries((await get(id)).tags).sort(), Object.entries(given).sort());
});

tags('of the parent are the tags of a fork, unless the call has tags', async () => {
  const id = await caller.createInstance({ tags: { team: 'before' } });
  await patch(id, { tags: TAGS });
  const made = await fork(id, {});
  assert.is(made.status, 201, made.text);
  assert.equal(made.body.data.tags, TAGS);
  assert.equal((await get(made.body.data.id)).tags, TAGS);
  assert.equal((await fork(id, { tags: { own: '1' } })).body.data.tags, { own: '1' });
  assert.equal((await fork(id, { tags: {} })).body.data.tags, {});
  assert.equal((await get(id)).tags, TAGS);
});

tags('are kept at their bounds, which are counted in code points', async () => {
  const given = Object.fromEntries(
    Array.from({ length: 16 }, (_, n) => [`😀${n}`.padEnd(65, '-'), '😀'.repeat(256)]),
  );
  const id = await caller.createInstance({ tags: given });
  assert.equal((await get(id)).tags, given);
});

const refused = suite('tags that break a rule');

const WRONG: readonly [what: string, tags: unknown, field: string, reason: string][] = [
  ['17 tags', Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, ''])), '', 'too_long'],
  ['an empty key', { '': 'x' }, '.', 'too_short'],
  ['a key of 65 emoji', { ['😀'.repeat(65)]: 'x' }, `.${'😀'.repeat(65)}`, 'too_long'],
  ['a value of 257 emoji', { team: '😀'.repeat(257) }, '.team', 'too_long'],
  ['a NUL in a key', { 'a\0': 'x' }, '.a\0', 'invalid_text'],
  ['a NUL in a value', { team: 'a\0' }, '.team', 'invalid_text'],
  ['half a surrogate pair in a key', { 'a\ud800': 'x' }, '.a\ufffd', 'invalid_text'],
  ['half a surrogate pair in a value', { team: '\ud800' }, '.team', 'invalid_text'],
  ['a number as value', { team: 1 }, '.team', 'wrong_type'],
  ['null as value', { team: null }, '.team', 'wrong_type'],
  ['a list', ['team'], '', 'wrong_type'],
  ['null', null, '', 'wrong_type'],
];

for (const [what, wrong, path, reason] of WRONG) {
  refused(`such as ${what} are answered 422 with ${reason}, and change nothing`, async () => {
    const id = await caller.createInstance({ tags: TAGS });
    const details = { field: `tags${path}`, reason };
    const calls = [create({ name: 'x', tags: wrong }), patch(id, { tags: wrong })];
    for (const answer of await Promise.all([...calls, fork(id, { tags: wrong })])) {
      assertRefused(answer, 422, 'invalid_request', details);
    }
    assert.equal((await get(id)).tags, TAGS);
  });
}

refused('because of a key that reaches a prototype are answered 422', async () => {
  const body = '{"name":"x","tags":{"__proto__":"y"}}';
  const answer = await caller.send('POST', '/instances', { body });
  assertRefused(answer, 422, 'invalid_request', { field: '__proto__', reason: 'unknown_field' });
});

for (const each of [tags, refused]) each.run();
