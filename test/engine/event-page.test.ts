import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import type { EventCursor } from '#grpc/engine-messages';
import {
  ANCHORED,
  chunksOfRows,
  createdInstance,
  type InstanceScene,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { trimOf } from '#test/engine/trim/trim-fixture';
import { eventsIn, type StreamEvent } from '#test/support/calls/event-reader';

const PAGE = { limit: 1_000, offset: 0, isEveryGeneration: true };

/** Cursor of a client that has received the event with this ordinal. */
const behind = (ordinal: number): EventCursor => ({
  ordinal,
  drift: 0,
  generation: 0,
  version: 0,
});

async function ask(scene: InstanceScene, after: EventCursor | undefined) {
  const { body, cursor } = await scene.ask({ kind: 'readEvents', after, waitMs: 0 });
  if (cursor === undefined) throw new Error('events come with a cursor');
  return { events: eventsIn(body.toString()), cursor };
}

/** All events after an ordinal, page by page. */
async function all(scene: InstanceScene, ordinal: number) {
  const events: StreamEvent[] = [];
  let after = behind(ordinal);
  for (;;) {
    const page = await ask(scene, after);
    events.push(...page.events);
    after = page.cursor;
    if (after.version > 0) return { events, cursor: after };
  }
}

const namesOf = (events: readonly StreamEvent[]) => events.map(({ event }) => event);
const idsOf = (events: readonly StreamEvent[]) => events.flatMap(({ id }) => id ?? []);

/** Ten drifting observations in each of two generations. Most rows are in chunks of three. */
async function lived(): Promise<InstanceScene> {
  const scene = await createdInstance({ chunkBounds: chunksOfRows(3) }, ANCHORED);
  for (let n = 1; n <= 20; n += 1) {
    if (n === 11) await scene.ask({ kind: 'reset', mode: 'initial' });
    const pushed = { mode: n % 2 === 0 ? 1 : 3, signal: 1 };
    const own = n % 10 > 0 && n % 10 < 5 ? { mode: 2, signal: 0.8 } : pushed;
    await scene.ask(observed({ ...own, timestampMs: START_MS + n * 2_000 }));
    if (n === 7 || n === 17) await scene.flush();
  }
  return scene;
}

/** The expected events, built from history and drift. */
async function expected(scene: InstanceScene) {
  const { data: rows } = await scene.read({ kind: 'readHistory', ...PAGE });
  const { data: drift } = await scene.read({ kind: 'readDrift', ...PAGE, isPaged: true });
  assert.ok(drift.length > 3 && drift.length < rows.length, `${drift.length} drift events`);
  return rows.toReversed().map((observation: Record<string, number>) => ({
    observation,
    drift:
      drift.find(
        ({ generation, cycle }: Record<string, number>) =>
          generation === observation['generation'] && cycle === observation['cycle'],
      ) ?? null,
  }));
}

const following = suite('the events of an instance');

following(
  'start with the state and the id to continue from, if the request has no cursor',
  async () => {
    const scene = await lived();
    const { events, cursor } = await ask(scene, undefined);
    assert.equal(namesOf(events), [undefined, 'state']);
    assert.equal(idsOf(events), [20]);
    assert.equal(cursor.ordinal, 20);
    assert.equal((await ask(scene, cursor)).events, []);
  },
);

following('include the rollback target and the set-point of the modes in the state', async () => {
  const scene = await createdInstance({}, ANCHORED);
  const stateOf = async () => (await ask(scene, undefined)).events[1]?.data;
  const fresh = await stateOf();
  assert.equal(fresh.set_point, fresh.snapshot.mode_strengths);
  assert.equal(fresh.last_stable, fresh.snapshot.mode_strengths);
  for (let n = 1; n <= 6; n += 1) {
    await scene.ask(observed({ mode: 3, signal: 1, timestampMs: START_MS + n * 2_000 }));
  }
  const pushed = await stateOf();
  const { assertion } = pushed.snapshot.mode_strengths;
  assert.ok(pushed.set_point.assertion > fresh.set_point.assertion, 'the set-point moves');
  assert.ok(
    pushed.set_point.assertion < assertion,
    'the set-point moves more slowly than the tendency',
  );
  assert.ok(pushed.last_stable.assertion < assertion, 'the rollback target stays below');
  await scene.ask({ kind: 'reset', mode: 'default' });
  assert.equal((await stateOf()).snapshot.mode_strengths, pushed.last_stable);
});

following(
  'contain each cycle after the given id once, in order, from memory and store',
  async () => {
    const scene = await lived();
    const cycles = await expected(scene);
    for (const afterwards of [async () => undefined, scene.flush, scene.evict]) {
      await afterwards();
      for (let id = 0; id <= 20; id += 1) {
        const { events } = await all(scene, id);
        const sent = events.filter(({ event }) => event === 'cycle');
        assert.equal(
          idsOf(sent),
          Array.from({ length: 20 - id }, (_, n) => id + n + 1),
        );
        assert.equal(
          sent.map(({ data }) => data),
          cycles.slice(id),
        );
        assert.is(events[0]?.event, 'state');
      }
    }
  },
);

following('report a reset between the cycles before and after it', async () => {
  const scene = await lived();
  const { events } = await all(scene, 8);
  assert.equal(namesOf(events).slice(0, 5), ['state', 'cycle', 'cycle', 'reset', 'cycle']);
  assert.equal(events[3]?.data, { generation: 2 });
  assert.not(namesOf((await all(scene, 11)).events).includes('reset'));
});

following(
  'continue after the previous answer, and end with the state after the newest cycle',
  async () => {
    const scene = await lived();
    const { cursor } = await ask(scene, undefined);
    await scene.ask(observed({ timestampMs: START_MS + 60_000 }));
    const next = await ask(scene, cursor);
    assert.equal(namesOf(next.events), ['cycle', 'state']);
    assert.equal(idsOf(next.events), [21]);
    assert.is(next.events[1]?.data.snapshot.cycle, 11);
    await scene.ask({ kind: 'reset', mode: 'initial' });
    assert.equal(namesOf((await ask(scene, next.cursor)).events), ['reset', 'state']);
  },
);

following('come in answers of at most 100 observations', async () => {
  const scene = await createdInstance();
  for (let batch = 0; batch < 3; batch += 1) {
    const times = Array.from({ length: 90 }, (_, n) => START_MS + (batch * 90 + n) * 1_000);
    await scene.ask(observed(...times.map((timestampMs) => ({ timestampMs }))));
  }
  const first = await ask(scene, behind(0));
  assert.equal([first.cursor.ordinal, first.cursor.version], [100, 0]);
  assert.equal(idsOf((await all(scene, 0)).events).length, 270);
});

following('come in answers of at most 256 KiB if contexts are large', async () => {
  const scene = await createdInstance();
  const contextJson = JSON.stringify({ filler: 'x'.repeat(8_000) });
  for (let batch = 0; batch < 2; batch += 1) {
    const times = Array.from({ length: 30 }, (_, n) => START_MS + (batch * 30 + n) * 1_000);
    await scene.ask(observed(...times.map((timestampMs) => ({ timestampMs, contextJson }))));
  }
  const { cursor } = await ask(scene, behind(0));
  assert.ok(cursor.ordinal > 25 && cursor.ordinal < 33, `${cursor.ordinal}`);
  assert.equal(idsOf((await all(scene, 0)).events).length, 60);
});

const trimmed = suite('when the oldest rows have been trimmed');

for (const [id, from] of [
  [0, 1],
  [5, 6],
] as const) {
  trimmed(`a client at id ${id} receives a gap event, then all remaining events`, async () => {
    const scene = await lived();
    const cycles = await expected(scene);
    const { data: rows } = await scene.read({ kind: 'readHistory', ...PAGE });
    const { data: drift } = await scene.read({ kind: 'readDrift', ...PAGE, isPaged: true });
    const { cursor } = await ask(scene, { ordinal: id, drift: 0, generation: 1, version: 1 });
    await scene.ask(trimOf(rows.toReversed(), drift.toReversed(), 13));
    for (const afterwards of [async () => undefined, scene.flush, scene.evict]) {
      await afterwards();
      const { events } = await all(scene, id);
      assert.equal(events[1], {
        event: 'gap',
        id: undefined,
        retryMs: undefined,
        data: { from, to: 13 },
      });
      const sent = events.filter(({ event }) => event === 'cycle');
      assert.equal(idsOf(sent), [14, 15, 16, 17, 18, 19, 20]);
      assert.equal(
        sent.map(({ data }) => data),
        cycles.slice(13),
      );
    }
    assert.is(cursor.ordinal, 20);
  });
}

trimmed('a stream at the newest event continues without a gap', async () => {
  const scene = await lived();
  const { cursor } = await ask(scene, undefined);
  const { data: rows } = await scene.read({ kind: 'readHistory', ...PAGE });
  const { data: drift } = await scene.read({ kind: 'readDrift', ...PAGE, isPaged: true });
  await scene.ask(trimOf(rows.toReversed(), drift.toReversed(), 20));
  await scene.ask(observed({ timestampMs: START_MS + 60_000 }));
  const { events } = await ask(scene, cursor);
  assert.equal([namesOf(events), idsOf(events)], [['cycle', 'state'], [21]]);
  assert.equal(idsOf((await all(scene, 20)).events), [21]);
});

const refused = suite('a request for events');

refused('is refused for an ordinal that does not exist yet', async () => {
  const scene = await lived();
  const refusal = await scene.refusal({ kind: 'readEvents', after: behind(21), waitMs: 0 });
  assert.ok(refusal instanceof Fault);
  assert.equal([refusal.httpStatus, refusal.reason], [400, 'invalid_parameter']);
});

refused('is refused for a deleted instance as for an unknown instance', async () => {
  const scene = await lived();
  await scene.ask({ kind: 'remove' });
  const refusal = await scene.refusal({ kind: 'readEvents', after: undefined, waitMs: 0 });
  assert.is(refusal.code, 'not_found');
});

for (const each of [following, trimmed, refused]) each.run();
