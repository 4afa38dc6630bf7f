import { sqliteKeyUseStore } from '#storage/sqlite/accounts';
import { keyUseStoreContract } from '#test/storage/contracts/key-use-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();

keyUseStoreContract('SQLite', async () =>
  sqliteKeyUseStore(await emptied(database, 'key_uses')),
).run();
files.closing().run();
