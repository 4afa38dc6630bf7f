import { suite } from 'uvu';
import { sqliteShardStore } from '#storage/sqlite/shards';
import { shardStoreContract } from '#test/storage/contracts/shard-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();
const open = async () => sqliteShardStore(await emptied(database, 'shards', 'cluster_facts'));

for (const part of shardStoreContract({ name: 'SQLite', open, suite })) part.run();
files.closing().run();
