import { memoryInstanceStore } from '#storage/memory/instances';
import { instanceStoreContract } from '#test/storage/instance-store-contract';
import { pagedInstancesContract } from '#test/storage/paged-instances-contract';

const contract = instanceStoreContract('memory', async () => memoryInstanceStore());

for (const suite of contract) suite.run();
pagedInstancesContract('memory', async () => ({
  store: memoryInstanceStore(),
  prefix: 'inst_',
})).run();
