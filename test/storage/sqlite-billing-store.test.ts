import { sqliteBillingStore } from '#storage/sqlite/audit';
import { billingStoreContract } from '#test/storage/billing-store-contract';
import { emptied, scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const database = files.open();

billingStoreContract('SQLite', async () =>
  sqliteBillingStore(await emptied(database, 'billing', 'billing_customers')),
).run();
files.closing().run();
