import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hidesFromOthers } from '#test/api/instances/one-instance';
import { refusesParameters } from '#test/api/refused-parameters';
import type { Caller } from '#test/support/calls/caller';
import { placeOf } from '#test/support/calls/pagination';
import { morning, observationAt, sharedScene } from '#test/support/calls/scene';

const scene = await sharedScene();
const { caller } = scene;
type Event = { cycle: number; drift_level: string; rolled_back: boolean };
const drift = (of: Caller, id: string, query = '') =>
  of.send('GET', `/instances/${id}/drift${query}`);
const ANALYTICAL = {
  mode_strengths: {
    perception: 0.85,
    exploration: 0.25,
    order: 0.75,
    assertion: 0.35,
    connection: 0.25,
    identity: 0.45,
    stress_response: 0.2,
  },
};
const AGAINST = [
  { mode_target: 'EXPLORATION', signal_strength: 1 },
  { mode_target: 'PERCEPTION', signal_strength: 0 },
  { mode_target: 'ORDER', signal_strength: 0 },
  { mode_target: 'ASSERTION', signal_strength: 1 },
];

const reading = suite('getting the drift events');

reading('of a new instance is answered 200 with an empty list', async () => {
  const answer = await drift(caller, await caller.createInstance());
  assert.is(answer.status, 200);
  assert.equal(answer.body, { data: [], pagination: { total: 0 } });
});

reading('without drift is answered 200 with total 0', async () => {
  const id = await caller.createInstance({ initial_config: ANALYTICAL });
  for (let i = 0; i < 5; i += 1) {
    await caller.process(id, observationAt(i * 30, { signal_strength: 0.75 }));
  }
  assert.is((await drift(caller, id)).body.pagination.total, 0);
});

reading('has one event for every answer that was not D0, newest first', async () => {
  const id = await caller.createInstance({ initial_config: ANALYTICAL });
  const expected: object[] = [];
  for (let i = 0; i < 60; i += 1) {
    const seen = observationAt(i * 30, AGAINST[i < 30 ? 0 : i % 4]);
    const { snapshot, drift: found } = await caller.process(id, seen);
    const { level: drift_level, deviation } = found;
    const { cycle } = snapshot;
    const rolled_back = drift_level === 'D3';
    if (drift_level === 'D0') continue;
    expected.unshift({ cycle, drift_level, deviation, rolled_back, timestamp: morning(i * 30) });
  }
  const { data, pagination } = (await drift(caller, id)).body;
  const shown = data.map(({ affected_modes: _, ...event }: { affected_modes: string[] }) => event);
  assert.equal(shown, expected);
  assert.equal(pagination, { total: expected.length });
  const levels = new Set(data.map((event: Event) => event.drift_level));
  assert.equal([...levels].toSorted(), ['D1', 'D2', 'D3']);
  for (const { affected_modes } of data) assert.ok(affected_modes.length > 0);
});

const paging = suite('paging through more than a thousand drift events');
const id = await caller.createInstance({ initial_config: ANALYTICAL });
let total = 0;

paging.before(async () => {
  for (let start = 0; start < 1_200; start += 100) {
    const observations = Array.from({ length: 100 }, (_, index) =>
      observationAt(start + index, AGAINST[0]),
    );
    const json = { observations, include_intermediate: true };
    const { data } = (await caller.send('POST', `/instances/${id}/process/batch`, { json })).body;
    const outside = ({ drift: found }: ReturnType<typeof JSON.parse>) => found.level !== 'D0';
    total += data.states.filter(outside).length;
  }
});

paging('without limit and offset, shows the newest 1,000 events and the total', async () => {
  assert.ok(total > 1_000, `${total} events`);
  const { data, pagination } = (await drift(caller, id)).body;
  assert.is(data.length, 1_000);
  assert.equal(pagination, { total });
});

paging('has all fields of pagination with limit or offset', async () => {
  const byLimit = (await drift(caller, id, '?limit=10')).body;
  assert.is(byLimit.data.length, 10);
  assert.equal(placeOf(byLimit.pagination), { limit: 10, offset: 0, total, has_more: true });
  const byOffset = (await drift(caller, id, `?offset=${total - 3}`)).body;
  assert.is(byOffset.data.length, 3);
  const last = { limit: 1_000, offset: total - 3, total, has_more: false, next_cursor: null };
  assert.equal(byOffset.pagination, last);
});

paging('ends with has_more false when the last page is full', async () => {
  const { pagination } = (await drift(caller, id, `?limit=5&offset=${total - 5}`)).body;
  assert.equal(placeOf(pagination), { limit: 5, offset: total - 5, total, has_more: false });
});

paging('has no gap and no duplicate', async () => {
  const cycles: number[] = [];
  for (let offset = 0; offset < total; offset += 400) {
    const { data } = (await drift(caller, id, `?limit=400&offset=${offset}`)).body;
    cycles.push(...data.map(({ cycle }: Event) => cycle));
  }
  assert.is(cycles.length, total);
  assert.equal(
    cycles,
    [...new Set(cycles)].toSorted((a, b) => b - a),
  );
});

const refused = suite('a drift query that breaks a rule');

refusesParameters(refused, (query) => drift(caller, id, query), {
  limitMax: 1_000,
  wrong: ['generation=2'],
  unknown: 'level=D3',
});

hidesFromOthers(refused, scene, drift, () => id);

for (const each of [reading, paging, refused]) each.run();
