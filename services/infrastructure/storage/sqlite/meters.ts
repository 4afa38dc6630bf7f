import assert from 'node:assert/strict';
import { type BucketOf, HEADS_MAX } from '#storage/ports/instances';
import { decodeMeter, decodeMonth, encodeMeter, encodeMonth } from '#storage/ports/meter-codec';
import { type ErasableMeters, type MeterCheckpoint, MONTHS_KEPT } from '#storage/ports/meters';
import type { SqliteDatabase, Statement } from '#storage/sqlite/database';
import { bytesIn, CheckedTable } from '#storage/sqlite/tables';

const METERS = new CheckedTable({
  name: 'meters',
  keys: ['bucket', 'account_id'],
  others: ['version', 'state'],
  part: 'bucket',
});
const MONTHS = new CheckedTable({
  name: 'meter_months',
  keys: ['account_id', 'ends_at_ms'],
  others: ['version', 'state'],
});

const NEWEST_FIRST = 'WHERE account_id = ? ORDER BY ends_at_ms DESC';
const NEWEST_MONTHS = MONTHS.select(`${NEWEST_FIRST} LIMIT ${MONTHS_KEPT}`);

const NOT_ERASED = `NOT EXISTS
  (SELECT 1 FROM meters WHERE bucket = ? AND account_id = ? AND state IS NULL)`;
const IS_OLDER = `account_id = ? AND ends_at_ms <
  (SELECT ends_at_ms FROM meter_months ${NEWEST_FIRST} LIMIT 1 OFFSET ${MONTHS_KEPT - 1})`;

/** Version of a deleted meter, above every version that a meter can reach. */
const LAST_VERSION = Number.MAX_SAFE_INTEGER;

/**
 * Meters in an SQLite file. A deleted meter leaves a tombstone: a row without a state, with
 * `LAST_VERSION`. Reads throw `CorruptState` for a damaged row. The caller closes `database`.
 */
export function sqliteMeterStore(database: SqliteDatabase, bucketOf: BucketOf): ErasableMeters {
  const keyOf = (accountId: string) => [bucketOf(accountId), accountId];

  function monthsOf({ accountId, head: { version, finished = [] } }: MeterCheckpoint): Statement[] {
    if (finished.length === 0) return [];
    const where = { condition: NOT_ERASED, values: keyOf(accountId) };
    const puts = finished.map((month) => {
      const row = [accountId, month.endsAtMs, version, encodeMonth(month)];
      return MONTHS.put(row, { unlessHigher: 'version', where });
    });
    return [...puts, MONTHS.delete(IS_OLDER, [accountId, accountId])];
  }

  return {
    bucketOf,
    async readHead(accountId) {
      const row = await METERS.find(database, 'meter_read', keyOf(accountId));
      if (row === undefined || row[3] === null) return undefined;
      return decodeMeter(accountId, bytesIn(row, 3));
    },
    async readMonths(accountId) {
      const query = { operation: 'meter_months_read', sql: NEWEST_MONTHS, values: [accountId] };
      const rows = await MONTHS.read(database, query);
      return rows.map((row) => decodeMonth(accountId, bytesIn(row, 3)));
    },
    async checkpoint(checkpoints) {
      assert(checkpoints.length <= HEADS_MAX, `more than ${HEADS_MAX} meters at once`);
      const heads = checkpoints.map(({ accountId, head }) => {
        const row = [...keyOf(accountId), head.version, encodeMeter(head)];
        return METERS.put(row, { unlessHigher: 'version' });
      });
      const statements = [...checkpoints.flatMap(monthsOf), ...heads];
      await database.write({ operation: 'meter_write', statements });
    },
    async erase(accountId) {
      const statements = [
        MONTHS.delete('account_id = ?', [accountId]),
        METERS.put([...keyOf(accountId), LAST_VERSION, null]),
      ];
      await database.write({ operation: 'meter_erase', statements });
    },
  };
}
