import { sqliteInstanceStore } from '#storage/sqlite/sqlite-instance-store';
import { instanceStoreContract } from '#test/storage/instance-store-contract';
import { ONE_BUCKET } from '#test/storage/migrated-keyspace';
import { scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const open = async () => sqliteInstanceStore(files.open(), ONE_BUCKET);

for (const part of instanceStoreContract('SQLite', open)) part.run();
files.closing().run();
