import { memoryAccountStore } from '#storage/memory/memory-account-store';
import { accountStoreContract } from '#test/storage/account-store-contract';

const contract = accountStoreContract('memory', async (clock) => memoryAccountStore(clock));

for (const suite of contract) suite.run();
