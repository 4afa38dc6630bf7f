import type { KeyUse, KeyUseStore } from '#storage/key-use-store';
import { CheckedTable, textIn, wholeIn } from '#storage/sqlite/checked-table';
import type { Row, SqliteDatabase } from '#storage/sqlite/database';

const USES = new CheckedTable({
  name: 'key_uses',
  keys: ['account_id', 'digest'],
  others: ['minute', 'address', 'client'],
});

const OF_ACCOUNT = USES.select('WHERE account_id = ?');

/** What stands for the digest of a key in the row that an erased account has: no key has it. */
const ERASED = '';

const IS_WANTED = `NOT EXISTS (SELECT 1 FROM key_uses WHERE account_id = ? AND digest = '')`;

/** Last uses in a file. `database` stays the caller's. */
export function sqliteKeyUseStore(database: SqliteDatabase): KeyUseStore {
  return {
    async note(accountId, { digest, minute, address = null, client = null }) {
      const where = { condition: IS_WANTED, values: [accountId] };
      const row = [accountId, digest, minute, address, client];
      const statements = [USES.put(row, { unlessHigher: 'minute', where })];
      await database.write({ operation: 'key_use_write', statements });
    },
    async find(accountId) {
      const query = { operation: 'key_use_read', sql: OF_ACCOUNT, values: [accountId] };
      const rows = await USES.read(database, query);
      return rows.map(useIn).filter(({ digest }) => digest !== ERASED);
    },
    async erase(accountId) {
      const statements = [
        USES.delete('account_id = ?', [accountId]),
        USES.put([accountId, ERASED, 0, null, null]),
      ];
      await database.write({ operation: 'key_use_erase', statements });
    },
  };
}

function useIn(row: Row): KeyUse {
  return {
    digest: textIn(row, 1),
    minute: wholeIn(row, 2),
    address: row[3] === null ? undefined : textIn(row, 3),
    client: row[4] === null ? undefined : textIn(row, 4),
  };
}
