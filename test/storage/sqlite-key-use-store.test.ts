import { sqliteKeyUseStore } from '#storage/sqlite/sqlite-key-use-store';
import { keyUseStoreContract } from '#test/storage/key-use-store-contract';
import { scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();

keyUseStoreContract('SQLite', async () => sqliteKeyUseStore(files.open())).run();
files.closing().run();
