import { suite } from 'uvu';
import { memoryShardStore } from '#test/storage/memory-shard-store';
import { shardStoreContract } from '#test/storage/shard-store-contract';

const open = async () => memoryShardStore();

for (const part of shardStoreContract({ name: 'memory', open, suite })) part.run();
