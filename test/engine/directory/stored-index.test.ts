import { createHash } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AccountListing } from '#engine/directory/account-listing';
import type { IndexedValues } from '#engine/directory/fleet-index';
import { partOf } from '#engine/directory/fleet-parts';
import { Indexer } from '#engine/directory/indexer';
import { storePart } from '#engine/directory/stored-index';
import { Feed } from '#engine/feed/feed';
import { toFault } from '#errors/fault';
import { TRANSITIONS } from '#identity/transitions';
import { memoryFeedStore } from '#storage/memory/feeds';
import { type FeedRow, INDEX_PARTS } from '#storage/ports/feeds';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';

/** Enough instances for an index to be stored. */
const INSTANCES = 16_500;
const STRESS_CHANGED = TRANSITIONS.indexOf('stress_changed');
const FIRST = TRANSITIONS.indexOf('created');

const idOf = (n: number) => `inst_${createHash('sha1').update(`${n}`).digest('hex').slice(0, 16)}`;
const rowOf = (n: number, version = 1) => {
  return { instanceId: idOf(n), version, name: 'a', createdAtMs: n };
};

/** An account whose index is complete and stored, in a directory that can move. */
async function storedScene() {
  const clock = new ManualClock(1_000_000);
  const store = memoryFeedStore();
  const truths = new Map<string, IndexedValues>();
  const rows = Array.from({ length: INSTANCES }, (_, n) => rowOf(n));
  for (const [n, { instanceId }] of rows.entries()) {
    const tagsJson = `{"team":"t${n % 7}"}`;
    truths.set(instanceId, { version: 1, flags: n % 4, changedAtMs: n, tagsJson });
  }
  let feed = new Feed(undefined, 1_000);
  let version = 0;
  const record = (...more: FeedRow[]) => {
    version += 1;
    feed.take({ atMs: clock.wallMs(), rows: more }, version);
  };
  record([idOf(0), 1, 1, [[FIRST, 0, 0, 0]]]);
  let listing = loaded(rows);
  const reads: string[] = [];
  const newIndexer = () =>
    new Indexer({
      ...{ clock, store, metrics: createMetrics(), mayIndex: () => true },
      useListing: async (_, use) => use(listing),
      look: async (_, from, count) => feed.view(from, count, clock.wallMs()),
      indexedOf: async (_, ids) => {
        reads.push(...ids);
        const found = ids.map((id) => [id, truths.get(id)] as const);
        const values = found.flatMap(([id, value]) =>
          value === undefined ? [] : [[id, value] as const],
        );
        return { values: new Map(values), unanswered: new Set<string>() };
      },
    });
  const refresh = async () => {
    using indexer = newIndexer();
    await readyIn(indexer);
  };
  const storeParts = async (first: number, end: number) => {
    for (let part = first; part < end; part += 1) {
      await storePart('a', part, store, async (use) => use(listing));
    }
  };
  await refresh();
  await storeParts(0, INDEX_PARTS);
  reads.length = 0;
  return {
    ...{ refresh, storeParts },
    ...{ clock, store, truths, rows, record, reads },
    /** The directory moves to a node that has only stored things. */
    async move(): Promise<void> {
      listing = loaded(rows);
      await refresh();
    },
    /** A feed of another history, as after the restore of a backup. */
    restoreFeed: (...older: FeedRow[]) => {
      feed = new Feed(undefined, 1_000);
      record(...older);
    },
    /** Throws unless the index has the values of all owners. */
    assertRight: () => {
      for (const { instanceId } of rows) {
        const row = listing.rowOf(instanceId);
        const held = row && listing.index?.heldOf(row);
        const { flags, changedAtMs, tagsJson } = truths.get(instanceId) ?? {};
        const found = [held?.flags, held?.changedAtMs, held?.tagsJson];
        assert.equal(found, [flags, changedAtMs, tagsJson], instanceId);
      }
    },
  };
}

async function readyIn(indexer: Indexer): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    try {
      await indexer.ready('a');
      return;
    } catch (error) {
      if (toFault(error).reason !== 'index_rebuilding') throw error;
    }
  }
  throw new Error('the index does not become complete');
}

function loaded(rows: Parameters<AccountListing['load']>[0]): AccountListing {
  const listing = new AccountListing();
  for (const _ of listing.load(rows));
  return listing;
}

const changeOf = (id: string, { version, flags, changedAtMs }: IndexedValues): FeedRow => [
  ...([id, version, changedAtMs] as const),
  [[STRESS_CHANGED, 1, flags, 0]],
];

const stored = suite('a stored index');

// Catches a take-over that reads all owners, and one that misses what came after the storing.
stored('needs the owners only for new instances and for newer tags', async () => {
  const { truths, rows, record, reads, move, assertRight } = await storedScene();
  const changed = { version: 3, flags: 3, changedAtMs: 9, tagsJson: '{"team":"t1"}' };
  truths.set(idOf(1), changed);
  record(changeOf(idOf(1), changed));
  truths.set(idOf(2), { version: 4, flags: 2, changedAtMs: 2, tagsJson: '{"team":"new"}' });
  rows[2] = rowOf(2, 4);
  const created = { version: 1, flags: 1, changedAtMs: 7, tagsJson: '{}' };
  truths.set(idOf(INSTANCES), created);
  rows.push(rowOf(INSTANCES));
  truths.delete(idOf(3));
  rows.splice(3, 1);
  await move();
  assertRight();
  assert.equal(reads.toSorted(), [idOf(2), idOf(INSTANCES)].sort());
});

// Catches a torn part, or a part of a newer release, that is trusted or that hides the others.
stored('lacks damaged parts, whose instances are read from their owners', async () => {
  const { store, rows, reads, move, assertRight } = await storedScene();
  const bytes = await store.indexPart('a', 7);
  if (bytes === undefined) throw new Error('part 7 is not stored');
  const damaged = Buffer.from(bytes);
  damaged[100] = (damaged[100] ?? 0) ^ 1;
  await store.putIndexPart('a', 7, damaged, 1);
  await store.putIndexPart('a', 8, Buffer.from([9, 9, 9, 9, 9, 9]), 1);
  await move();
  assertRight();
  const isLost = (id: string) => /^inst_0[78]/.test(id);
  const lost = rows.map(({ instanceId }) => instanceId).filter(isLost);
  assert.equal(reads.toSorted(), lost.sort());
});

// Catches flags of a time in which an earlier release served the account.
stored('is not used after five minutes', async () => {
  const { clock, reads, move } = await storedScene();
  clock.advance(5 * 60_000 + 1);
  await move();
  assert.is(reads.length, INSTANCES);
});

// Catches values that are newer than the restored instances.
stored('is not used if the feed has another history', async () => {
  const { truths, restoreFeed, reads, move, assertRight } = await storedScene();
  const other = { version: 2, flags: 2, changedAtMs: 5, tagsJson: '{}' };
  truths.set(idOf(0), other);
  restoreFeed(changeOf(idOf(0), other));
  await move();
  assertRight();
  assert.is(reads.length, INSTANCES);
});

// Catches changes between the oldest and the newest part that are lost.
stored('continues from its oldest part', async () => {
  const scene = await storedScene();
  changeOften(scene, 3);
  await scene.refresh();
  await scene.storeParts(partOf(idOf(0)) + 1, INDEX_PARTS);
  await scene.move();
  scene.assertRight();
  assert.equal(scene.reads, []);
});

// Catches changes that the feed has dropped since.
stored('is not used if rows behind its oldest part are no longer kept', async () => {
  const scene = await storedScene();
  changeOften(scene, 1_001);
  await scene.refresh();
  await scene.storeParts(partOf(idOf(0)) + 1, INDEX_PARTS);
  scene.reads.length = 0;
  await scene.move();
  scene.assertRight();
  assert.is(scene.reads.length, INSTANCES);
});

/** Changes the first instance some times. */
function changeOften({ truths, record }: Awaited<ReturnType<typeof storedScene>>, times: number) {
  for (let n = 0; n < times; n += 1) {
    const next = { version: n + 2, flags: n % 4, changedAtMs: n, tagsJson: '{"team":"t0"}' };
    truths.set(idOf(0), next);
    record(changeOf(idOf(0), next));
  }
}

// Catches small accounts, which are not stored, that take the turns of a large one.
stored('is written within a minute beside many small accounts', async () => {
  const clock = new ManualClock(1_000_000);
  const store = memoryFeedStore();
  const rows = Array.from({ length: INSTANCES }, (_, n) => rowOf(n));
  const listings = new Map([['a', loaded(rows)]]);
  for (let n = 0; n < 8; n += 1) listings.set(`small${n}`, loaded(rows.slice(0, 2)));
  const value = { version: 1, flags: 0, changedAtMs: 1, tagsJson: '{}' };
  using indexer = new Indexer({
    ...{ clock, store, metrics: createMetrics(), mayIndex: () => true },
    useListing: async (id, use) => use(listings.get(id) ?? new AccountListing()),
    look: async (_, from, count) => new Feed(undefined, 1_000).view(from, count, clock.wallMs()),
    indexedOf: async (_, ids) => {
      return { values: new Map(ids.map((id) => [id, value])), unanswered: new Set() };
    },
  });
  for (const id of listings.keys()) await indexer.ready(id);
  await pass(clock, 66_000, 1_000);
  const numbers = Array.from({ length: INDEX_PARTS }, (_, part) => part);
  const parts = await Promise.all(numbers.map((part) => store.indexPart('a', part)));
  assert.is(parts.filter((bytes) => bytes !== undefined).length, INDEX_PARTS);
});

stored.run();
