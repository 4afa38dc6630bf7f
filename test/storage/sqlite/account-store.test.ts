import type { Clock } from '#stdlib/clock';
import { sqliteAccountStore } from '#storage/sqlite/accounts';
import { accountStoreContract } from '#test/storage/contracts/account-store';
import { keyChangesContract } from '#test/storage/contracts/key-changes';
import { managedAccountsContract } from '#test/storage/contracts/managed-accounts';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

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
