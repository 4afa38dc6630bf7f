import assert from 'node:assert/strict';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { type RowWrite, writeRows } from '#storage/cassandra/statements';
import { type BucketOf, HEADS_BYTES_MAX, HEADS_MAX } from '#storage/ports/instances';
import { decodeMeter, decodeMonth, encodeMeter, encodeMonth } from '#storage/ports/meter-codec';
import { type ErasableMeters, type MeterCheckpoint, MONTHS_KEPT } from '#storage/ports/meters';

const READ = 'SELECT state FROM meters WHERE bucket = ? AND account_id = ?';
const WRITE = `INSERT INTO meters (bucket, account_id, state) VALUES (?, ?, ?)
  USING TIMESTAMP ?`;
const READ_MONTHS = `SELECT state FROM meter_months WHERE bucket = ? AND account_id = ?
  LIMIT ${MONTHS_KEPT}`;
/** Minimum retention of a month, in seconds: 12 months and some days. */
const MONTH_TTL_S = 400 * 24 * 60 * 60;
const WRITE_MONTH = `INSERT INTO meter_months (bucket, account_id, ends_at_ms, state)
  VALUES (?, ?, ?, ?) USING TIMESTAMP ? AND TTL ${MONTH_TTL_S}`;
const ERASE_MONTHS = `DELETE FROM meter_months USING TIMESTAMP ?
  WHERE bucket = ? AND account_id = ?`;
const ERASE = 'DELETE FROM meters USING TIMESTAMP ? WHERE bucket = ? AND account_id = ?';

/** Timestamp of a deletion, above every version that a meter can reach. */
const LAST_VERSION = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Meters in Cassandra. The timestamp of a write is the head's version. The higher version therefore
 * wins, even if writes arrive late or twice (architecture 3.2). Reads throw `CorruptState` for a
 * damaged value.
 */
export function cassandraMeterStore(session: CassandraSession, bucketOf: BucketOf): ErasableMeters {
  async function writeMonths(checkpoints: readonly MeterCheckpoint[]): Promise<void> {
    const writes = checkpoints.flatMap(({ accountId, head: { version, finished = [] } }) => {
      const partition = bucketOf(accountId);
      return finished.map((month): RowWrite => {
        const state = encodeMonth(month);
        const params = [partition, accountId, BigInt(month.endsAtMs), state, BigInt(version)];
        const statement = { query: WRITE_MONTH, params };
        return { partition, statement, valueBytes: state.length };
      });
    });
    if (writes.length === 0) return;
    const options: StatementOptions = { kind: 'write', operation: 'meter_months_write' };
    await writeRows(session, writes, options, HEADS_BYTES_MAX);
  }

  return {
    bucketOf,
    async readHead(accountId) {
      const options: StatementOptions = { kind: 'read', operation: 'meter_read' };
      const { rows } = await session.execute(READ, [bucketOf(accountId), accountId], options);
      return rows[0] === undefined ? undefined : decodeMeter(accountId, rows[0]['state']);
    },
    async readMonths(accountId) {
      const options: StatementOptions = { kind: 'read', operation: 'meter_months_read' };
      const params = [bucketOf(accountId), accountId];
      const { rows } = await session.execute(READ_MONTHS, params, options);
      return rows.map((row) => decodeMonth(accountId, row['state']));
    },
    async checkpoint(checkpoints) {
      assert(checkpoints.length <= HEADS_MAX, `more than ${HEADS_MAX} meters at once`);
      // Months are written first. After a head is stored, the next head need not contain its
      // finished months.
      await writeMonths(checkpoints);
      const writes = checkpoints.map(({ accountId, head }): RowWrite => {
        const partition = bucketOf(accountId);
        const state = encodeMeter(head);
        const params = [partition, accountId, state, BigInt(head.version)];
        return { partition, statement: { query: WRITE, params }, valueBytes: state.length };
      });
      const options: StatementOptions = { kind: 'write', operation: 'meter_write' };
      await writeRows(session, writes, options, HEADS_BYTES_MAX);
    },
    async erase(accountId) {
      const options: StatementOptions = { kind: 'write', operation: 'meter_erase' };
      const params = [LAST_VERSION, bucketOf(accountId), accountId];
      await session.execute(ERASE_MONTHS, params, options);
      await session.execute(ERASE, params, options);
    },
  };
}
