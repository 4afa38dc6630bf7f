import type { Clock } from '#stdlib/clock';
import { sqliteAccountStore } from '#storage/sqlite/accounts';
import { accountStoreContract } from '#test/storage/account-store-contract';
import { keyChangesContract } from '#test/storage/key-changes-contract';
import { managedAccountsContract } from '#test/storage/managed-accounts-contract';
import { emptied, scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const database = files.open();

const open = async (clock: Pick<Clock, 'wallMs'>) =>
  sqliteAccountStore(await emptied(database, 'accounts'), clock);

const contract = [
  ...accountStoreContract('SQLite', open),
  ...managedAccountsContract('SQLite', open),
  ...keyChangesContract('SQLite', open),
];

for (const suite of [...contract, files.closing()]) suite.run();
