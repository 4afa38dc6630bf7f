import assert from 'node:assert/strict';
import { AUDIT_LINES_MAX, type AuditHead, type AuditStore } from '#storage/ports/audit';
import type { BillingRecord, BillingStore } from '#storage/ports/billing';
import type { Row, SqliteDatabase } from '#storage/sqlite/database';
import { RevisedTable } from '#storage/sqlite/revised-table';
import { CheckedTable, textIn, wholeIn } from '#storage/sqlite/tables';

/** Maximum number of lines that one transaction deletes (about 2 MB). */
const ERASED_AT_ONCE = 4_096;

const LINES = new CheckedTable({
  name: 'audit',
  keys: ['account_id', 'month', 'seq'],
  others: ['line', 'line_hash'],
});

const OF_MONTH = 'account_id = ? AND month = ?';
const FIRST_OF_MONTHS = LINES.select('WHERE account_id = ? AND seq = 1 ORDER BY month');
const DOWNWARDS = LINES.select(`WHERE ${OF_MONTH} AND seq <= ? ORDER BY seq DESC LIMIT ?`);
const IS_NEWEST = `EXISTS (SELECT 1 FROM audit WHERE ${OF_MONTH} AND seq = ? AND line_hash = ?)`;

/**
 * Audit trails in an SQLite file. A single transaction appends a batch of lines. The append
 * requires that the line before the batch exists with the expected hash. The primary key refuses
 * sequence numbers that are taken. The caller closes `database`.
 */
export function sqliteAuditStore(database: SqliteDatabase): AuditStore {
  const rowsOf = (accountId: string, month: string, newest: number, count: number) =>
    LINES.read(database, {
      operation: 'audit_read',
      sql: DOWNWARDS,
      values: [accountId, month, newest, count],
    });

  async function head(accountId: string, month: string): Promise<AuditHead | undefined> {
    const [row] = await rowsOf(accountId, month, Number.MAX_SAFE_INTEGER, 1);
    return row && { month, lines: wholeIn(row, 2), hash: textIn(row, 4) };
  }

  return {
    async months(accountId) {
      const query = { operation: 'audit_months_read', sql: FIRST_OF_MONTHS, values: [accountId] };
      return (await LINES.read(database, query)).map((row) => textIn(row, 1));
    },
    head,
    async append(accountId, { month, lines: count, hash }, lines) {
      assert(lines.length > 0 && lines.length <= AUDIT_LINES_MAX, 'a batch must contain lines');
      assert(lines[0]?.seq === count + 1, 'lines must have consecutive numbers');
      const before = { condition: IS_NEWEST, values: [accountId, month, count, hash] };
      const statements = lines.map(({ seq, text, hash: own }, index) => {
        const row = [accountId, month, seq, text, own];
        return index === 0 && count > 0 ? LINES.insert(row, before) : LINES.insert(row);
      });
      return await database.write({ operation: 'audit_append', statements });
    },
    async read(accountId, month, newest, count) {
      return (await rowsOf(accountId, month, newest, count)).map(lineIn);
    },
    async erase(accountId, month) {
      // Deletes the newest lines first. `months` finds a month by its first line, which must be
      // deleted last.
      let left = (await head(accountId, month))?.lines ?? 0;
      while (left > 0) {
        left = Math.max(0, left - ERASED_AT_ONCE);
        const statements = [LINES.delete(`${OF_MONTH} AND seq > ?`, [accountId, month, left])];
        await database.write({ operation: 'audit_erase', statements });
      }
    },
  };
}

function lineIn(row: Row) {
  return { seq: wholeIn(row, 2), text: textIn(row, 3), hash: textIn(row, 4) };
}

const RECORDS = new RevisedTable<BillingRecord>('billing', 'account_id');
const CUSTOMERS = new CheckedTable({
  name: 'billing_customers',
  keys: ['customer_id'],
  others: ['account_id'],
});

/** Billing records in an SQLite file. The caller closes `database`. */
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
