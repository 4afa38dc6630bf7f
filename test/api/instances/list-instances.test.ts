import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { refusesParameters } from '#test/api/refused-parameters';
import type { Caller } from '#test/support/calls/caller';
import { placeOf } from '#test/support/calls/pagination';
import { observationAt, sharedScene } from '#test/support/calls/scene';

const { caller, newCaller } = await sharedScene();
type Listed = { id: string; name: string; created_at: string };
const list = (of: Caller, query = '') => of.send('GET', `/instances${query}`);
const namesIn = async (of: Caller, query: string): Promise<string[]> =>
  (await list(of, query)).body.data.map(({ name }: Listed) => name);

const empty = suite('listing the instances of an account without instances');

empty('is answered 200 with an empty page', async () => {
  const newcomer = await newCaller();
  const answer = await list(newcomer);
  assert.is(answer.status, 200);
  assert.equal(answer.body, {
    data: [],
    pagination: { limit: 20, offset: 0, total: 0, has_more: false, next_cursor: null },
  });
  assert.is(answer.headers.get('etag'), null);
});

const many = suite('listing 25 instances');
const owner = await newCaller();
const createdIds: string[] = [];

many.before(async () => {
  for (let i = 0; i < 25; i += 1) {
    createdIds.push(
      await owner.createInstance({ name: `n${String((i * 7) % 25).padStart(2, '0')}` }),
    );
  }
});

many('shows the newest 20 instances by default', async () => {
  const { body } = await list(owner);
  assert.equal(placeOf(body.pagination), { limit: 20, offset: 0, total: 25, has_more: true });
  const ids = body.data.map(({ id }: Listed) => id);
  assert.is(ids.length, 20);
  const times = body.data.map(({ created_at }: Listed) => created_at);
  assert.equal(times, times.toSorted().toReversed());
});

many('shows exactly the documented fields of an item', async () => {
  const { body } = await list(owner, '?limit=1');
  const texts = ['id', 'name', 'description', 'tags'];
  const state = ['energy_level', 'stress_state', 'drift_level', 'dominant_mode', 'changed_at'];
  const fields = [...texts, 'created_at', 'cycle_count', ...state];
  assert.equal(Object.keys(body.data[0]), fields);
});

many('pages without a gap or a duplicate, in both directions', async () => {
  for (const order of ['asc', 'desc']) {
    const seen: string[] = [];
    for (let offset = 0; offset < 25; offset += 10) {
      const { body } = await list(owner, `?limit=10&offset=${offset}&order=${order}`);
      assert.is(body.pagination.has_more, offset + 10 < 25);
      seen.push(...body.data.map(({ id }: Listed) => id));
    }
    assert.equal(seen.toSorted(), createdIds.toSorted());
    const whole = (await list(owner, `?limit=100&order=${order}`)).body.data;
    assert.equal(
      seen,
      whole.map(({ id }: Listed) => id),
    );
  }
});

many('in ascending order is the reverse of the descending order', async () => {
  const up = (await list(owner, '?limit=100&order=asc')).body.data;
  const down = (await list(owner, '?limit=100&order=desc')).body.data;
  assert.equal(up, down.toReversed());
});

many('shows instances with the same creation time in the order of their ids', async () => {
  const { data } = (await list(owner, '?limit=100&order=asc')).body;
  const keys = data.map(({ created_at, id }: Listed) => `${created_at} ${id}`);
  assert.equal(keys, keys.toSorted());
});

many('with sort=name shows the instances in the order of their names', async () => {
  const names = await namesIn(owner, '?sort=name&order=asc&limit=100');
  assert.equal(names, names.toSorted());
  assert.equal(await namesIn(owner, '?sort=name&limit=100'), names.toReversed());
});

many('past the end is answered 200 with no rows and the correct total', async () => {
  const { status, body } = await list(owner, '?offset=25');
  assert.is(status, 200);
  assert.equal(body.data, []);
  assert.equal(placeOf(body.pagination), { limit: 20, offset: 25, total: 25, has_more: false });
  const far = await list(owner, `?offset=${Number.MAX_SAFE_INTEGER}`);
  assert.equal(far.body.data, []);
});

many('ends with has_more false when the last page is full', async () => {
  assert.is((await list(owner, '?limit=5&offset=20')).body.pagination.has_more, false);
  assert.is((await list(owner, '?limit=5&offset=19')).body.pagination.has_more, true);
});

many('at both bounds of limit is answered 200', async () => {
  assert.is((await list(owner, '?limit=1')).body.data.length, 1);
  assert.is((await list(owner, '?limit=100')).body.data.length, 25);
});

many('shows the current cycles and energy', async () => {
  const id = createdIds[3] ?? '';
  const { snapshot } = await owner.process(id, observationAt(0));
  const { data } = (await list(owner, '?limit=100')).body;
  const item = data.find((row: Listed) => row.id === id);
  assert.is(item.cycle_count, 1);
  assert.is(item.energy_level, snapshot.energy_level);
});

many('shows a new name and a deletion immediately', async () => {
  const id = createdIds[4] ?? '';
  await owner.send('PATCH', `/instances/${id}`, { json: { name: 'aaa first' } });
  assert.is((await namesIn(owner, '?sort=name&order=asc&limit=1'))[0], 'aaa first');
  await owner.send('DELETE', `/instances/${id}`);
  const { body } = await list(owner, '?limit=100');
  assert.is(body.pagination.total, 24);
  assert.not.ok(body.data.some((row: Listed) => row.id === id));
});

many('never shows the instances of other accounts', async () => {
  await caller.createInstance({ name: 'not theirs' });
  assert.not.ok((await namesIn(owner, '?limit=100')).includes('not theirs'));
});

const names = suite('listing by name');

names('sorts by code point, so that an emoji comes after U+FF5E', async () => {
  const someone = await newCaller();
  const wanted = ['B', 'Z', 'a', 'ä', '\uff5e', '😀'];
  for (const name of wanted.toReversed()) await someone.createInstance({ name });
  assert.equal(await namesIn(someone, '?sort=name&order=asc'), wanted);
});

names('breaks ties by time of creation, then by id', async () => {
  const someone = await newCaller();
  for (let i = 0; i < 5; i += 1) await someone.createInstance({ name: 'same' });
  const { data } = (await list(someone, '?sort=name&order=asc')).body;
  const keys = data.map(({ created_at, id }: Listed) => `${created_at} ${id}`);
  assert.equal(keys, keys.toSorted());
});

const searched = suite('a list with a search');
const searcher = await newCaller();

searched.before(async () => {
  for (const name of ['Order bot', 'Border guard', 'Zoë (100%)', 'zoe', 'x'.repeat(100)]) {
    await searcher.createInstance({ name });
  }
});

searched(
  'shows instances whose name contains the text, in any case, in the list’s order',
  async () => {
    const inOrder = (await namesIn(searcher, '')).filter((name) => /order/i.test(name));
    assert.equal(inOrder.toSorted(), ['Border guard', 'Order bot']);
    assert.equal(await namesIn(searcher, '?search=ORDER'), inOrder);
    assert.equal(await namesIn(searcher, '?search=order&sort=name'), ['Order bot', 'Border guard']);
    assert.equal(await namesIn(searcher, '?search=ZO%C3%8B'), ['Zoë (100%)']);
    assert.equal(await namesIn(searcher, '?search=(100%25)'), ['Zoë (100%)'], 'no pattern');
    assert.equal(await namesIn(searcher, `?search=${'x'.repeat(64)}`), ['x'.repeat(100)]);
  },
);

searched('counts its matches, and pages through them', async () => {
  const { body } = await list(searcher, '?search=order&sort=name&limit=1&offset=1');
  assert.equal(placeOf(body.pagination), { limit: 1, offset: 1, total: 2, has_more: false });
  assert.is(body.data[0].name, 'Border guard');
  assert.equal((await list(searcher, '?search=nothing')).body.pagination.total, 0);
});

searched('finds an instance by a part of its id, but no instance of another account', async () => {
  const [{ id }] = (await list(searcher, '?search=zoe')).body.data;
  assert.equal(await namesIn(searcher, `?search=${id}`), ['zoe']);
  assert.equal(await namesIn(searcher, `?search=${id.slice(0, -1)}`), ['zoe']);
  assert.equal(await namesIn(searcher, `?search=${id.slice(8)}`), ['zoe']);
  assert.equal(await namesIn(searcher, `?search=${id.slice(-5)}`), [], 'too few digits');
  assert.equal(await namesIn(caller, `?search=${id}`), []);
});

const refused = suite('a list query that is out of range');

refusesParameters(refused, (query) => list(caller, query), {
  limitMax: 100,
  wrong: [
    'limit=0x10',
    'limit=10&limit=20',
    'offset=x',
    'offset=9007199254740993',
    'sort=id',
    'sort=',
    'order=ASC',
    'search=',
    `search=${'x'.repeat(65)}`,
    'search=a&search=b',
  ],
  unknown: 'page=2',
});

for (const each of [empty, many, names, searched, refused]) each.run();
