import { memoryAccountStore } from '#storage/memory/accounts';
import { accountStoreContract } from '#test/storage/contracts/account-store';
import { keyChangesContract } from '#test/storage/contracts/key-changes';
import { managedAccountsContract } from '#test/storage/contracts/managed-accounts';

const contract = [
  ...accountStoreContract('memory', async (clock) => memoryAccountStore(clock)),
  ...managedAccountsContract('memory', async (clock) => memoryAccountStore(clock)),
  ...keyChangesContract('memory', async (clock) => memoryAccountStore(clock)),
];

for (const suite of contract) suite.run();
