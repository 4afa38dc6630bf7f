import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { placeOf } from '#test/support/calls/pagination';
import { morning, observationAt, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const AGAINST = { mode_target: 'EXPLORATION', signal_strength: 1 };
type Row = { cycle: number; generation?: number; timestamp: string };
const get = async (id: string, path: string) =>
  (await caller.send('GET', `/instances/${id}/${path}`)).body;
const places = (rows: readonly Row[]) => rows.map(({ generation, cycle }) => [generation, cycle]);

const generations = suite('an instance that was reset twice');
const id = await caller.createInstance({
  initial_config: { mode_strengths: { perception: 0.85, order: 0.75, exploration: 0.1 } },
});
const driftCounts = [0, 0, 0];

generations.before(async () => {
  for (const [index, cycles] of [5, 20, 12].entries()) {
    for (let i = 0; i < cycles; i += 1) {
      const { drift } = await caller.process(id, observationAt(1_000 - index * 300 + i, AGAINST));
      if (drift.level !== 'D0') driftCounts[index] = (driftCounts[index] ?? 0) + 1;
    }
    if (index === 2) continue;
    const json = { mode: index === 0 ? 'initial' : 'default' };
    assert.is((await caller.send('POST', `/instances/${id}/reset`, { json })).status, 200);
  }
});

generations('shows the current generation’s history, with its cycle count as total', async () => {
  const { data, pagination } = await get(id, 'history');
  assert.is(pagination.total, 12);
  assert.is((await get(id, 'snapshot')).data.cycle_count, 12);
  assert.equal(
    data.map(({ cycle }: Row) => cycle),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
  );
  assert.not.ok('generation' in data[0]);
});

generations('shows the same rows with generation=current', async () => {
  assert.equal(await get(id, 'history?generation=current'), await get(id, 'history'));
  assert.equal(await get(id, 'drift?generation=current'), await get(id, 'drift'));
});

generations(
  'shows every record and its generation with generation=all, the newest record first',
  async () => {
    const { data, pagination } = await get(id, 'history?generation=all');
    assert.is(pagination.total, 37);
    const expected = [12, 20, 5].flatMap((cycles, index) =>
      Array.from({ length: cycles }, (_, at) => [3 - index, cycles - at]),
    );
    assert.equal(places(data), expected);
    assert.is(data[0].timestamp, morning(411));
    assert.is(data.at(-1).timestamp, morning(1_000));
  },
);

generations('shows pages across the resets with generation=all', async () => {
  const whole = (await get(id, 'history?generation=all')).data;
  const paged = [];
  for (let offset = 0; offset < 37; offset += 7) {
    const { data, pagination } = await get(id, `history?generation=all&limit=7&offset=${offset}`);
    assert.equal(placeOf(pagination), { limit: 7, offset, total: 37, has_more: offset + 7 < 37 });
    paged.push(...data);
  }
  assert.equal(paged, whole);
});

generations('shows drift events of the current generation, or of all generations', async () => {
  const [first = 0, second = 0, third = 0] = driftCounts;
  assert.ok(second > 0 && third > 0, 'the observations must cause drift');
  const current = await get(id, 'drift');
  assert.equal(current.pagination, { total: third });
  assert.is(current.data.length, third);
  const all = await get(id, 'drift?generation=all');
  assert.equal(all.pagination, { total: first + second + third });
  const ranks = places(all.data).map(([generation = 0, cycle = 0]) => generation * 1_000 + cycle);
  assert.equal(
    ranks,
    ranks.toSorted((a, b) => b - a),
  );
  const all7 = await get(id, 'drift?generation=all&limit=7');
  assert.equal(all7.data, all.data.slice(0, 7));
});

generations('has no current records right after a reset, but all older records', async () => {
  await caller.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
  assert.is((await get(id, 'history')).pagination.total, 0);
  assert.equal((await get(id, 'drift')).data, []);
  assert.is((await get(id, 'history?generation=all')).pagination.total, 37);
});

const fresh = suite('a new instance');

fresh('stores its first record in generation 1', async () => {
  const freshId = await caller.createInstance();
  await caller.process(freshId, observationAt(0));
  assert.equal(places((await get(freshId, 'history?generation=all')).data), [[1, 1]]);
});

for (const each of [generations, fresh]) each.run();
