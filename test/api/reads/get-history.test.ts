import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hidesFromOthers } from '#test/api/instances/one-instance';
import { refusesParameters } from '#test/api/refused-parameters';
import { placeOf } from '#test/support/calls/pagination';
import { morning, observationAt, sharedScene } from '#test/support/calls/scene';

const scene = await sharedScene();
const { caller } = scene;
type Row = { cycle: number; generation?: number };
const history = (id: string, query = '') => caller.send('GET', `/instances/${id}/history${query}`);
const cyclesIn = async (id: string, query = ''): Promise<number[]> =>
  (await history(id, query)).body.data.map(({ cycle }: Row) => cycle);
const down = (from: number, to: number) =>
  Array.from({ length: from - to + 1 }, (_, index) => from - index);

const reading = suite('getting the history');
const id = await caller.createInstance();

reading.before(async () => {
  for (const start of [0, 100, 200]) {
    const observations = Array.from({ length: start === 200 ? 50 : 100 }, (_, index) =>
      observationAt(start + index, { context: { n: start + index + 1 } }),
    );
    const path = `/instances/${id}/process/batch`;
    assert.is((await caller.send('POST', path, { json: { observations } })).status, 200);
  }
});

reading('of a new instance is answered 200 with an empty page', async () => {
  const answer = await history(await caller.createInstance());
  assert.is(answer.status, 200);
  assert.equal(answer.body, {
    data: [],
    pagination: { limit: 100, offset: 0, total: 0, has_more: false, next_cursor: null },
  });
});

reading('shows exactly the observations that were sent, and their times', async () => {
  const one = await caller.createInstance();
  const sent = observationAt(5, { signal_strength: 0.123456789, confidence: 0, context: { a: 1 } });
  await caller.process(one, sent);
  assert.equal((await history(one)).body.data, [{ cycle: 1, ...sent, timestamp: morning(5) }]);
});

reading('shows the newest 100 records by default, newest first', async () => {
  assert.equal(await cyclesIn(id), down(250, 151));
  const { pagination } = (await history(id)).body;
  assert.equal(placeOf(pagination), { limit: 100, offset: 0, total: 250, has_more: true });
});

reading('has no gap and no duplicate across pages', async () => {
  const seen: number[] = [];
  for (let offset = 0; offset < 250; offset += 70) {
    const { data, pagination } = (await history(id, `?limit=70&offset=${offset}`)).body;
    assert.equal(placeOf(pagination), {
      limit: 70,
      offset,
      total: 250,
      has_more: offset + 70 < 250,
    });
    seen.push(...data.map(({ cycle }: Row) => cycle));
  }
  assert.equal(seen, down(250, 1));
});

reading('ends with has_more false when the last page is full', async () => {
  const { pagination } = (await history(id, '?limit=50&offset=200')).body;
  assert.equal(placeOf(pagination), { limit: 50, offset: 200, total: 250, has_more: false });
});

reading('is answered 200 at both bounds of limit', async () => {
  assert.equal(await cyclesIn(id, '?limit=1'), [250]);
  assert.equal(await cyclesIn(id, '?limit=1000'), down(250, 1));
});

reading('past the end is answered 200 with no rows and the correct total', async () => {
  const { data, pagination } = (await history(id, '?offset=250')).body;
  assert.equal(data, []);
  assert.equal(placeOf(pagination), { limit: 100, offset: 250, total: 250, has_more: false });
});

reading('shows every context at its own cycle', async () => {
  const { data } = (await history(id, '?limit=1000')).body;
  for (const { cycle, context } of data) assert.is(context.n, cycle);
});

reading('has the instance’s cycle count as its total', async () => {
  const { cycle_count } = (await caller.send('GET', `/instances/${id}`)).body.data;
  assert.is((await history(id)).body.pagination.total, cycle_count);
});

const large = suite('getting 1,000 records with the largest contexts');

large('is answered in pages of at most 1 MiB, without a gap or duplicate', async () => {
  const big = await caller.createInstance();
  const path = `/instances/${big}/process/batch`;
  const letters = 'é"'.repeat(2_000);
  for (let start = 0; start < 1_000; start += 25) {
    const observations = Array.from({ length: 25 }, (_, index) =>
      observationAt(start + index, { context: { a: `${start + index}${letters}` } }),
    );
    assert.is((await caller.send('POST', path, { json: { observations } })).status, 200);
  }
  const seen: number[] = [];
  for (let isMore = true; isMore; ) {
    const { status, text, body } = await history(big, `?limit=1000&offset=${seen.length}`);
    assert.is(status, 200);
    assert.ok(Buffer.byteLength(text) < 1_024 * 1_024 + 200, `${text.length}`);
    assert.is(body.data[0].context.a, `${999 - seen.length}${letters}`);
    const { limit, offset, total, has_more } = body.pagination;
    assert.equal([limit, offset, total], [1_000, seen.length, 1_000]);
    seen.push(...body.data.map(({ cycle }: Row) => cycle));
    isMore = has_more;
    // The page is full: another row would not fit.
    if (isMore) assert.is(body.data.length, 128);
  }
  assert.equal(seen, down(1_000, 1));
});

const refused = suite('a history query that breaks a rule');

refusesParameters(refused, (query) => history(id, query), {
  limitMax: 1_000,
  wrong: ['limit=-5', 'limit=1e3', 'offset=1.0', 'generation=1', 'generation=', 'generation=ALL'],
  unknown: 'sort=cycle',
});

hidesFromOthers(
  refused,
  scene,
  (of, asked) => of.send('GET', `/instances/${asked}/history`),
  () => id,
);

for (const each of [reading, large, refused]) each.run();
