import { memoryAccountStore } from '#storage/memory/memory-account-store';
import { accountStoreContract } from '#test/storage/account-store-contract';
import { managedAccountsContract } from '#test/storage/managed-accounts-contract';

const contract = [
  ...accountStoreContract('memory', async (clock) => memoryAccountStore(clock)),
  ...managedAccountsContract('memory', async (clock) => memoryAccountStore(clock)),
];

for (const suite of contract) suite.run();
