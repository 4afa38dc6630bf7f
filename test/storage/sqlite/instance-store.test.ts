import { sqliteInstanceStore } from '#storage/sqlite/instances';
import { ONE_BUCKET } from '#test/storage/cassandra/migrated-keyspace';
import { instanceStoreContract } from '#test/storage/contracts/instance-store';
import { pagedInstancesContract } from '#test/storage/contracts/paged-instances';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();
const open = async () =>
  sqliteInstanceStore(
    await emptied(database, 'heads', 'history', 'drift', 'answers', 'states'),
    ONE_BUCKET,
  );

for (const part of instanceStoreContract('SQLite', open)) part.run();
const openPaged = async () => ({ store: await open(), prefix: 'inst_' });
pagedInstancesContract('SQLite', openPaged).run();
files.closing().run();
