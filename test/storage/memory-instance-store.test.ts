import { memoryInstanceStore } from '#storage/memory/memory-instance-store';
import { instanceStoreContract } from '#test/storage/instance-store-contract';

const contract = instanceStoreContract('memory', async () => memoryInstanceStore());

for (const suite of contract) suite.run();
