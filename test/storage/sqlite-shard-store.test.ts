import { suite } from 'uvu';
import { sqliteShardStore } from '#storage/sqlite/sqlite-shard-store';
import { scratchFiles } from '#test/storage/scratch-file';
import { shardStoreContract } from '#test/storage/shard-store-contract';

const files = scratchFiles();
const open = async () => sqliteShardStore(files.open());

for (const part of shardStoreContract({ name: 'SQLite', open, suite })) part.run();
files.closing().run();
