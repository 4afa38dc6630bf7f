import type { CassandraSession, Statement } from '#storage/cassandra/session';
import { conditionalAnswerOf } from '#storage/cassandra/statements';
import type { BillingRecord, BillingStore, StoredBilling } from '#storage/ports/billing';

const FIND = 'SELECT revision, state FROM billing WHERE account_id = ?';
const CREATE = 'INSERT INTO billing (account_id, revision, state) VALUES (?, 1, ?) IF NOT EXISTS';
const CHANGE = 'UPDATE billing SET revision = ?, state = ? WHERE account_id = ? IF revision = ?';
const ERASE = 'DELETE FROM billing WHERE account_id = ? IF EXISTS';

const ACCOUNT_OF = 'SELECT account_id FROM billing_customers WHERE customer_id = ?';
const LINK = 'INSERT INTO billing_customers (customer_id, account_id) VALUES (?, ?) IF NOT EXISTS';
const UNLINK = 'DELETE FROM billing_customers WHERE customer_id = ? IF account_id = ?';

/**
 * Timeout of a conditional write, in milliseconds. A conditional write needs four round trips
 * between servers.
 */
const CHANGE_MS_MAX = 5_000;

/** Version of the JSON in `state`. Changes may only add fields (decision 239). */
const VERSION = 1;

type StoredText = BillingRecord & { readonly version: number };

/** Billing records in Cassandra, with a partition per account and a partition per customer. */
export function cassandraBillingStore(session: CassandraSession): BillingStore {
  async function change(operation: string, { query, params }: Statement): Promise<boolean> {
    const options = { kind: 'conditional', operation, timeoutMs: CHANGE_MS_MAX } as const;
    return conditionalAnswerOf(await session.execute(query, params, options)).isApplied;
  }

  // A serial read sees the effect of a conditional write whose answer was lost.
  async function find(accountId: string): Promise<StoredBilling | undefined> {
    const options = { kind: 'serial_read', operation: 'billing_read' } as const;
    const [row] = (await session.execute(FIND, [accountId], options)).rows;
    if (row === undefined) return undefined;
    return { record: recordOf(row['state']), revision: row['revision'] };
  }

  return {
    find,
    async accountOf(customerId) {
      const options = { kind: 'serial_read', operation: 'billing_customer_read' } as const;
      const [row] = (await session.execute(ACCOUNT_OF, [customerId], options)).rows;
      return row?.['account_id'];
    },
    async put(accountId, revision, record) {
      // Links are written first, so that every customer of a stored record leads to its account.
      for (const { id } of record.customers) {
        await change('billing_customer_link', { query: LINK, params: [id, accountId] });
      }
      const text = textOf(record);
      return await change(
        'billing_change',
        revision === 0
          ? { query: CREATE, params: [accountId, text] }
          : { query: CHANGE, params: [revision + 1, text, accountId, revision] },
      );
    },
    async erase(accountId) {
      // The record is deleted last, because it names the customers to delete.
      for (const { id } of (await find(accountId))?.record.customers ?? []) {
        await change('billing_customer_erase', { query: UNLINK, params: [id, accountId] });
      }
      await change('billing_erase', { query: ERASE, params: [accountId] });
    },
  };
}

function textOf(record: BillingRecord): string {
  const stored: StoredText = { version: VERSION, ...record };
  return JSON.stringify(stored);
}

function recordOf(text: string): BillingRecord {
  const { customers, subscriptions, returns }: StoredText = JSON.parse(text);
  return { customers, subscriptions, returns };
}
