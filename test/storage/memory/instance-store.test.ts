import { memoryInstanceStore } from '#storage/memory/instances';
import { instanceStoreContract } from '#test/storage/contracts/instance-store';
import { pagedInstancesContract } from '#test/storage/contracts/paged-instances';

const contract = instanceStoreContract('memory', async () => memoryInstanceStore());

for (const suite of contract) suite.run();
pagedInstancesContract('memory', async () => ({
  store: memoryInstanceStore(),
  prefix: 'inst_',
})).run();
