import { suite } from 'uvu';
import { sqliteShardStore } from '#storage/sqlite/shards';
import { emptied, scratchFiles } from '#test/storage/scratch-file';
import { shardStoreContract } from '#test/storage/shard-store-contract';

const files = scratchFiles();
const database = files.open();
const open = async () => sqliteShardStore(await emptied(database, 'shards', 'cluster_facts'));

for (const part of shardStoreContract({ name: 'SQLite', open, suite })) part.run();
files.closing().run();
