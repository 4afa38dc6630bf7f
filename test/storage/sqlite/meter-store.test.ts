import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MONTHS_KEPT } from '#storage/ports/meters';
import { sqliteMeterStore } from '#storage/sqlite/meters';
import { ONE_BUCKET } from '#test/storage/cassandra/migrated-keyspace';
import { meterAt, monthAt, storeMeter } from '#test/storage/contracts/meter-records';
import { meterStoreContract } from '#test/storage/contracts/meter-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();

const open = async () =>
  sqliteMeterStore(await emptied(database, 'meters', 'meter_months'), ONE_BUCKET);

const months = suite('months in SQLite');

months('never exceed the maximum number of rows, even if an old month arrives late', async () => {
  const store = await open();
  for (const month of [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1]) {
    await storeMeter(store, 'a', meterAt(month, { finished: [monthAt(month)] }));
  }
  const sql = 'SELECT count(*), min(ends_at_ms) FROM meter_months';
  const rows = await database.read({ operation: 'test', sql, values: [] });
  assert.equal(rows, [[MONTHS_KEPT, monthAt(3).endsAtMs]]);
});

for (const part of [meterStoreContract('SQLite', open), months, files.closing()]) part.run();
