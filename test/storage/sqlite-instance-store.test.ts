import { sqliteInstanceStore } from '#storage/sqlite/instances';
import { instanceStoreContract } from '#test/storage/instance-store-contract';
import { ONE_BUCKET } from '#test/storage/migrated-keyspace';
import { pagedInstancesContract } from '#test/storage/paged-instances-contract';
import { emptied, scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const database = files.open();
const open = async () =>
  sqliteInstanceStore(await emptied(database, 'heads', 'history', 'drift', 'answers'), ONE_BUCKET);

for (const part of instanceStoreContract('SQLite', open)) part.run();
const openPaged = async () => ({ store: await open(), prefix: 'inst_' });
pagedInstancesContract('SQLite', openPaged).run();
files.closing().run();
