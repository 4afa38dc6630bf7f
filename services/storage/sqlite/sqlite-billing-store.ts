import type { BillingRecord, BillingStore } from '#storage/billing-store';
import { CheckedTable, textIn } from '#storage/sqlite/checked-table';
import type { SqliteDatabase } from '#storage/sqlite/database';
import { RevisedTable } from '#storage/sqlite/revised-table';

const RECORDS = new RevisedTable<BillingRecord>('billing', 'account_id');
const CUSTOMERS = new CheckedTable({
  name: 'billing_customers',
  keys: ['customer_id'],
  others: ['account_id'],
});

/** Billing in a file. `database` stays the caller's. */
export function sqliteBillingStore(database: SqliteDatabase): BillingStore {
  return {
    async find(accountId) {
      const found = await RECORDS.find(database, 'billing_read', accountId);
      return found && { record: found.state, revision: found.revision };
    },
    async accountOf(customerId) {
      const row = await CUSTOMERS.find(database, 'billing_customer_read', [customerId]);
      return row && textIn(row, 1);
    },
    put(accountId, revision, record) {
      const statements = [
        RECORDS.put(accountId, revision === 0 ? undefined : revision, record),
        ...record.customers.map(({ id }) => CUSTOMERS.add([id, accountId])),
      ];
      return database.write({ operation: 'billing_change', statements });
    },
    async erase(accountId) {
      const statements = [
        RECORDS.delete(accountId),
        CUSTOMERS.delete('account_id = ?', [accountId]),
      ];
      await database.write({ operation: 'billing_erase', statements });
    },
  };
}
