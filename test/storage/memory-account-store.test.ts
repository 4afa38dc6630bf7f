import { memoryAccountStore } from '#storage/memory/accounts';
import { accountStoreContract } from '#test/storage/account-store-contract';
import { keyChangesContract } from '#test/storage/key-changes-contract';
import { managedAccountsContract } from '#test/storage/managed-accounts-contract';

const contract = [
  ...accountStoreContract('memory', async (clock) => memoryAccountStore(clock)),
  ...managedAccountsContract('memory', async (clock) => memoryAccountStore(clock)),
  ...keyChangesContract('memory', async (clock) => memoryAccountStore(clock)),
];

for (const suite of contract) suite.run();
