import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AccountListing } from '#engine/directory/account-listing';
import { storedPage } from '#engine/directory/stored-page';
import { composeEngine } from '#engine/engine-node';
import type { EngineCommand } from '#grpc/engine-messages';
import type { ListingPage } from '#grpc/list-cursor';
import { systemClock } from '#stdlib/clock';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore } from '#storage/memory/instances';
import { memoryJournal } from '#storage/memory/meters';
import type { ListingStore } from '#storage/ports/listings';
import { sqliteListingStore } from '#storage/sqlite/listings';
import { createMetrics } from '#telemetry/metrics';
import {
  ACCOUNT_ID,
  bodyOf,
  CREATE,
  callOf,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';
import { ManualClock } from '#test/support/manual-clock';

const files = scratchFiles();
const database = files.open();

const PAGE = { limit: 20, offset: 0, sort: 'created_at', order: 'desc' } as const;

const equal = suite('a page that is read from the store');

const row = fc.record({
  instanceId: fc.integer({ min: 0, max: 40 }).map((n) => `inst_${n}`),
  createdAtMs: fc.integer({ min: 0, max: 3 }),
  isRemoved: fc.boolean(),
});

equal('equals the page of the directory, and so do the pages behind its cursor', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(row, { selector: ({ instanceId }) => instanceId, maxLength: 30 }),
      fc.record({ limit: fc.integer({ min: 1, max: 5 }), offset: fc.integer({ min: 0, max: 4 }) }),
      fc.constantFrom('asc' as const, 'desc' as const),
      async (rows, numbers, order) => {
        const store = sqliteListingStore(await emptied(database, 'listings'), systemClock);
        for (const { instanceId, createdAtMs, isRemoved } of rows) {
          const texts = { name: `of ${instanceId}`, description: 'd' };
          await store.put('a', { instanceId, version: 1, ...texts, createdAtMs });
          if (isRemoved) await store.remove('a', instanceId, 2);
        }
        const listing = new AccountListing();
        for (const _ of listing.load(await store.listed('a')));
        let page: ListingPage | undefined = { ...PAGE, ...numbers, order };
        while (page !== undefined) {
          const { next, ...shown } = listing.page(page);
          const { next: storedNext, ...stored } = (await storedPage(store, 'a', page)) ?? {};
          assert.equal(stored, shown);
          assert.equal(storedNext && { ...storedNext }, next && withoutAbsent(next));
          page = next && { ...PAGE, ...numbers, order, offset: 0, cursor: next };
        }
      },
    ),
    { numRuns: 25 },
  );
});

/** A cursor of the directory names a filter, even without one. */
function withoutAbsent({ filter: _, ...cursor }: NonNullable<ListingPage['cursor']>) {
  return cursor;
}

equal('is not used for other orders, for searches and behind a high offset', async () => {
  const store = sqliteListingStore(database, systemClock);
  const pages: ListingPage[] = [
    { ...PAGE, sort: 'name' },
    { ...PAGE, sort: 'changed_at' },
    { ...PAGE, search: 'a' },
    { ...PAGE, filter: { tags: [] } },
    { ...PAGE, offset: 1_001 },
  ];
  for (const page of pages) assert.is(storedPage(store, 'a', page), undefined);
});

/** An engine whose directories are not loaded before `load` is called. */
async function loadingEngine() {
  const clock = new ManualClock(START_MS);
  const loaded = Promise.withResolvers<void>();
  const store = sqliteListingStore(await emptied(database, 'listings'), systemClock);
  const waiting: ListingStore = {
    ...store,
    async listed(...asked) {
      await loaded.promise;
      return await store.listed(...asked);
    },
  };
  const stores = { instances: memoryInstanceStore(), feeds: memoryFeedStore() };
  const onBug = (error: unknown) => {
    throw error;
  };
  const ports = { clock, metrics: createMetrics(), onBug, ...stores, journal: memoryJournal() };
  const config = { idleAgeMs: 30_000, memoryBytesMax: 64 * 1_024 * 1_024 };
  const engine = await composeEngine(config, { ...ports, listings: waiting });
  let lastCallId = 0;
  const ask = async (command: EngineCommand, instanceId = '') => {
    lastCallId += 1;
    const call = callOf(command, { instanceId, accountId: ACCOUNT_ID, callId: lastCallId });
    return bodyOf(await engine.ask(call));
  };
  return { ask, store, load: () => loaded.resolve() };
}

const loading = suite('while the directory of an account is loading');

// The first page of a million instances took seconds.
loading('its newest instances are listed, with every change so far', async () => {
  const { ask, store, load } = await loadingEngine();
  const list = async () => {
    const { data, pagination } = await ask({ kind: 'list', ...PAGE });
    return [pagination.total, ...data.map(({ name }: { name: string }) => name)];
  };
  const put = (n: number, version: number, name: string) => {
    const row = { instanceId: `inst_${n}`, version, name, description: '', createdAtMs: n };
    return store.put(ACCOUNT_ID, row);
  };
  await put(1, 1, 'old');
  assert.equal(await list(), [1, 'old']);
  await put(2, 1, 'new');
  await put(1, 2, 'renamed');
  assert.equal(await list(), [2, 'new', 'renamed']);
  await store.remove(ACCOUNT_ID, 'inst_2', 2);
  assert.equal(await list(), [1, 'renamed']);
  const created = ask(CREATE, 'inst_00000000000000aa');
  load();
  await created;
  assert.equal(await list(), [2, CREATE.name, 'renamed']);
});

for (const part of [equal, loading, files.closing()]) part.run();
