import { sqliteBillingStore } from '#storage/sqlite/audit';
import { billingStoreContract } from '#test/storage/contracts/billing-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();

billingStoreContract('SQLite', async () =>
  sqliteBillingStore(await emptied(database, 'billing', 'billing_customers')),
).run();
files.closing().run();
