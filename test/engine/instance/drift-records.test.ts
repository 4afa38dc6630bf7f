import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ANCHORED, bodyOf, createdInstance, pushed } from '#test/engine/instance/instance-fixture';
import { placeOf } from '#test/support/calls/pagination';

const drift = suite('when drift events are read');

/**
 * Pushes an anchored identity until a rollback, which creates drift events D1, D2 and D3. Returns
 * the drift of each answer, newest first.
 */
async function drifting() {
  const scene = await createdInstance({}, ANCHORED);
  const answered: unknown[] = [];
  for (let n = 1; n <= 150; n += 1) {
    const answer = await scene.ask(pushed(n));
    const { snapshot, drift: found } = bodyOf(answer).data;
    if (found.level !== 'D0') answered.unshift({ cycle: snapshot.cycle, ...found });
    if (n === 75) await scene.flush();
  }
  return { scene, answered };
}

drift('each cycle outside the band has an event with the drift of the answer', async () => {
  const { scene, answered } = await drifting();
  const read = { kind: 'readDrift', limit: 1_000, offset: 0, isEveryGeneration: false } as const;
  const { data, pagination } = await scene.read({ ...read, isPaged: false });
  type Event = { cycle: number; drift_level: string; deviation: object; rolled_back: boolean };
  assert.equal(
    data.map((event: Event) => ({
      cycle: event.cycle,
      level: event.drift_level,
      deviation: event.deviation,
    })),
    answered,
  );
  assert.equal(pagination, { total: answered.length });
  const levels = new Set(data.map((event: Event) => event.drift_level));
  assert.ok(levels.has('D1') && levels.has('D3'), [...levels].join());
  for (const event of data) assert.is(event.rolled_back, event.drift_level === 'D3');
});

drift('a page spans stored and unstored events and has pagination fields', async () => {
  const { scene, answered } = await drifting();
  const total = answered.length;
  for (const [limit, offset] of [
    [1, 0],
    [5, 3],
    [total, 0],
    [1_000, total - 2],
    [10, total],
  ] as const) {
    const page = { limit, offset, isEveryGeneration: false, isPaged: true };
    const { data, pagination } = await scene.read({ kind: 'readDrift', ...page });
    const cycles = answered.slice(offset, offset + limit) as { cycle: number }[];
    assert.equal(
      data.map((event: { cycle: number }) => event.cycle),
      cycles.map(({ cycle }) => cycle),
    );
    assert.equal(placeOf(pagination), { limit, offset, total, has_more: offset + limit < total });
  }
});

drift.run();
