import { sqliteMeterStore } from '#storage/sqlite/sqlite-meter-store';
import { meterStoreContract } from '#test/storage/meter-store-contract';
import { ONE_BUCKET } from '#test/storage/migrated-keyspace';
import { emptied, scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const database = files.open();

const open = async () =>
  sqliteMeterStore(await emptied(database, 'meters', 'meter_months'), ONE_BUCKET);

meterStoreContract('SQLite', open).run();
files.closing().run();
