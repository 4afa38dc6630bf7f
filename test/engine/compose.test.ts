import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { composeEngine } from '#engine/engine-node';
import type { Fault } from '#errors/fault';
import type { EngineCommand } from '#grpc/engine-messages';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryJournal } from '#storage/memory/meters';
import { createMetrics } from '#telemetry/metrics';
import {
  ACCOUNT_ID,
  bodyOf,
  CREATE,
  callOf,
  observed,
  process,
  START_MS,
  seen,
} from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf, turnOfEvents } from '#test/support/settled';

type List = Extract<EngineCommand, { kind: 'list' }>;
type Item = { id: string; name: string; cycle_count: number; energy_level: number };

const LIST: List = { kind: 'list', limit: 20, offset: 0, sort: 'created_at', order: 'desc' };

/** A composed engine with memory stores and a manual clock. */
async function engineUnderTest() {
  const clock = new ManualClock(START_MS);
  const metrics = createMetrics();
  const stores = {
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    feeds: memoryFeedStore(),
  };
  const onBug = (error: unknown) => {
    throw error;
  };
  const config = { idleAgeMs: 30_000, memoryBytesMax: 64 * 1_024 * 1_024 };
  const ports = { clock, metrics, onBug, ...stores, journal: memoryJournal() };
  const engine = await composeEngine(config, ports);
  let lastCallId = 0;
  const ask = async (command: EngineCommand, instanceId = '', accountId = ACCOUNT_ID) => {
    lastCallId += 1;
    return bodyOf(await engine.ask(callOf(command, { instanceId, accountId, callId: lastCallId })));
  };
  return {
    ...stores,
    clock,
    engine,
    ask,
    list: (fields: Partial<List> = {}, accountId = ACCOUNT_ID) =>
      ask({ ...LIST, ...fields }, '', accountId),
    /** Advances the clock until every instance is evicted. */
    async evict(): Promise<void> {
      for (let s = 0; s < 60; s += 1) {
        clock.advance(1_000);
        await turnOfEvents();
      }
    },
    /** Number of instances in memory. */
    async active(): Promise<number> {
      clock.advance(1_000);
      const { text } = await metrics.scrape();
      return Number(/^identity_actors_active\{actor="instance"\} (\d+)$/m.exec(text)?.[1]);
    },
  };
}

const idOf = (n: number) => `inst_${n.toString(16).padStart(16, '0')}`;
const ids = ({ data }: { data: Item[] }) => data.map(({ id }) => id);

const empty = suite('when an account has no instances');

empty('the listing is an empty page', async () => {
  const { list } = await engineUnderTest();
  const pagination = { limit: 20, offset: 0, total: 0, has_more: false, next_cursor: null };
  assert.equal(await list(), { data: [], pagination });
  assert.equal((await list({ offset: 5 })).data, []);
});

const several = suite('when an account has several instances');

several('the listing sorts them by creation and by name, in both directions', async () => {
  const { ask, list, clock } = await engineUnderTest();
  const names = ['b', 'a', '\u{1f600}', '\uff5e', 'a'];
  for (const [n, name] of names.entries()) {
    clock.advance(n === 1 ? 0 : 5);
    await ask({ ...CREATE, name }, idOf(9 - n));
  }
  const created = [idOf(8), idOf(9), idOf(7), idOf(6), idOf(5)];
  assert.equal(ids(await list({ order: 'asc' })), created);
  assert.equal(ids(await list()), created.toReversed());
  const named = [idOf(8), idOf(5), idOf(9), idOf(6), idOf(7)];
  assert.equal(ids(await list({ sort: 'name', order: 'asc' })), named);
  assert.equal(ids(await list({ sort: 'name', order: 'desc' })), named.toReversed());
});

several('pages follow each other without gaps, and report whether more rows exist', async () => {
  const { ask, list, clock } = await engineUnderTest();
  for (let n = 1; n <= 7; n += 1) {
    clock.advance(10);
    await ask(CREATE, idOf(n));
  }
  const pages = await Promise.all([0, 3, 6, 9].map((offset) => list({ limit: 3, offset })));
  assert.equal(pages.flatMap(ids), [7, 6, 5, 4, 3, 2, 1].map(idOf));
  assert.equal(
    pages.map(({ pagination }) => pagination.has_more),
    [true, true, false, false],
  );
  assert.equal((await list({ limit: 7 })).pagination.has_more, false);
});

several('an item has the description of its row while the instance cannot be read', async () => {
  const { ask, list, instances, listings, evict } = await engineUnderTest();
  await ask(CREATE, idOf(1));
  await evict();
  const readHead = instances.readHead;
  instances.readHead = async () => undefined;
  const [item] = (await list()).data;
  assert.equal([item.description, item.cycle_count], ['first of her name', 0]);
  // A caller who sends `{}` back would delete the tags.
  assert.is(item.tags, undefined);
  instances.readHead = readHead;
  let finds = 0;
  listings.find = async () => {
    finds += 1;
    return undefined;
  };
  assert.is((await list()).data[0].description, 'first of her name');
  assert.is(finds, 0, 'a readable head makes a second lookup unnecessary');
});

several('an item has the current cycle and energy of its instance', async () => {
  const { ask, list } = await engineUnderTest();
  await ask({ ...CREATE, energyLevel: 0.5 }, idOf(1));
  const before = await list();
  assert.equal(before.data, [
    {
      id: idOf(1),
      name: 'Ada',
      description: 'first of her name',
      tags: {},
      created_at: new Date(START_MS).toISOString(),
      cycle_count: 0,
      energy_level: 0.5,
      ...{ stress_state: 'LOW', drift_level: 'D0', dominant_mode: 'None' },
      changed_at: new Date(START_MS).toISOString(),
    },
  ]);
  const { data } = await ask(observed({}, {}), idOf(1));
  const [item] = (await list()).data;
  assert.is(item.cycle_count, 2);
  assert.is(item.energy_level, data.snapshot.energy_level);
});

several('the listing shows renames and deletions immediately, to the account only', async () => {
  const { ask, list } = await engineUnderTest();
  for (const n of [1, 2]) await ask(CREATE, idOf(n));
  await ask({ kind: 'rename', name: 'Zoe', description: undefined }, idOf(2));
  await ask({ kind: 'remove' }, idOf(1));
  const { data, pagination } = await list();
  assert.equal([data.length, data[0].name, pagination.total], [1, 'Zoe', 1]);
  assert.equal((await list({}, 'Acc0unt00002')).data, []);
});

const resting = suite('when all instances are evicted');

resting('a listing shows the stored states without activating the instances', async () => {
  const { ask, list, evict, active } = await engineUnderTest();
  for (const n of [1, 2, 3]) {
    await ask(CREATE, idOf(n));
    await ask(process(...Array.from({ length: n }, () => seen())), idOf(n));
  }
  const before = await list();
  assert.is(await active(), 3);
  await evict();
  assert.is(await active(), 0);
  assert.equal(await list(), before);
  assert.equal(before.data.map((item: Item) => item.cycle_count).sort(), [1, 2, 3]);
  assert.is(await active(), 0);
});

const going = suite('while an instance is being deleted');

going('the listed item shows the numbers of a new instance', async () => {
  const { ask, list, listings } = await engineUnderTest();
  await ask(CREATE, idOf(1));
  const gate = Promise.withResolvers<void>();
  const { remove } = listings;
  listings.remove = async (...change) => {
    await gate.promise;
    await remove(...change);
  };
  const removal = ask({ kind: 'remove' }, idOf(1));
  await turnOfEvents();
  const { data } = await list();
  assert.equal([data[0].cycle_count, data[0].energy_level], [0, 0.8]);
  gate.resolve();
  await removal;
  assert.equal((await list()).data, []);
});

const closed = suite('when the engine is closed');

closed('the engine stores everything and refuses calls', async () => {
  const { ask, engine, instances, listings } = await engineUnderTest();
  await ask(CREATE, idOf(1));
  await ask(observed(), idOf(1));
  await engine[Symbol.asyncDispose]();
  assert.is((await instances.readHead(idOf(1)))?.historyCount, 1);
  assert.is((await listings.load(ACCOUNT_ID)).length, 1);
  for (const command of [LIST, { kind: 'readInstance' }] as const) {
    const fault = (await refusalOf(() => ask(command, idOf(1)))) as Fault;
    assert.is(fault.reason, 'shutting_down');
  }
});

for (const group of [empty, several, resting, going, closed]) group.run();
