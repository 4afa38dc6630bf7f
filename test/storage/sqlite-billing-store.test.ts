import { sqliteBillingStore } from '#storage/sqlite/sqlite-billing-store';
import { billingStoreContract } from '#test/storage/billing-store-contract';
import { scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();

billingStoreContract('SQLite', async () => sqliteBillingStore(files.open())).run();
files.closing().run();
