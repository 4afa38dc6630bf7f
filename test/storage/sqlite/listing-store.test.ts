import { DatabaseSync } from 'node:sqlite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { MARKER_AGE_MS } from '#storage/ports/instances';
import { sqliteListingStore } from '#storage/sqlite/listings';
import { openServedFile } from '#storage/sqlite/open-file';
import { deleteExpired, knownFileVersions } from '#storage/sqlite/schema';
import { listingStoreContract } from '#test/storage/contracts/listing-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();

const open = async () => sqliteListingStore(await emptied(database, 'listings'), systemClock);

const PAGE = { limit: 9, offset: 0, order: 'asc', after: undefined } as const;
const rowOf = (n: number, version = 1) => {
  const texts = { name: `name ${n}`, description: '' };
  return { instanceId: `inst_${n}`, version, ...texts, createdAtMs: 10 - n };
};

const counted = suite('the number of instances beside a page by creation');

counted('follows creations, removals, late changes and expired removals', async () => {
  const store = await open();
  const totals = async () => [
    (await store.byCreation?.('a', PAGE))?.total,
    (await store.byCreation?.('b', PAGE))?.total,
  ];
  for (const n of [1, 2, 3]) await store.put('a', rowOf(n));
  await store.put('b', rowOf(1));
  assert.equal(await totals(), [3, 1]);
  await store.remove('a', 'inst_2', 4);
  await store.remove('a', 'inst_2', 5);
  await store.put('a', rowOf(2, 3));
  await store.remove('a', 'inst_9', 1);
  await store.put('a', rowOf(1, 2));
  assert.equal(await totals(), [2, 1]);
  await store.put('a', rowOf(9, 2));
  assert.equal(await totals(), [3, 1]);
  await deleteExpired(database, Date.now() + 2 * MARKER_AGE_MS);
  assert.equal(await totals(), [3, 1]);
});

counted('and the order are made for a file of an earlier version', async () => {
  const path = files.path();
  {
    await using file = openServedFile({ file: path, clock: systemClock });
    const store = sqliteListingStore(file, systemClock);
    for (const n of [1, 2, 3]) await store.put('a', rowOf(n));
    await store.remove('a', 'inst_2', 4);
  }
  const raw = new DatabaseSync(path);
  for (const sql of knownFileVersions()[2]?.statements ?? []) {
    const [, kind, name] = /^CREATE (INDEX|TRIGGER) (\w+)/.exec(sql) ?? [];
    raw.exec(
      kind === undefined
        ? "DELETE FROM sums WHERE name = 'removed_listings'"
        : `DROP ${kind} ${name}`,
    );
  }
  raw.exec('PRAGMA user_version = 2');
  raw.close();
  await using file = openServedFile({ file: path, clock: systemClock });
  const found = await sqliteListingStore(file, systemClock).byCreation?.('a', PAGE);
  const ids = found?.rows.map(({ instanceId }) => instanceId);
  assert.equal([found?.total, ids], [2, ['inst_3', 'inst_1']]);
});

counted.run();
for (const part of listingStoreContract('SQLite', open)) part.run();
files.closing().run();
