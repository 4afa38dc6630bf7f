import { suite } from 'uvu';
import { shardStoreContract } from '#test/storage/contracts/shard-store';
import { memoryShardStore } from '#test/storage/memory/shard-store';

const open = async () => memoryShardStore();

for (const part of shardStoreContract({ name: 'memory', open, suite })) part.run();
