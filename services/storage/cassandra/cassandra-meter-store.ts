import assert from 'node:assert/strict';
import type { BucketOf } from '#storage/bucket-of';
import { decodeMeter, encodeMeter } from '#storage/cassandra/meter-codec';
import { type RowWrite, writeRows } from '#storage/cassandra/row-batches';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { HEADS_BYTES_MAX, HEADS_MAX } from '#storage/instance-store';
import type { ErasableMeters } from '#storage/meter-store';

const READ = 'SELECT state FROM meters WHERE bucket = ? AND account_id = ?';
const WRITE = `INSERT INTO meters (bucket, account_id, state) VALUES (?, ?, ?)
  USING TIMESTAMP ?`;
const ERASE = 'DELETE FROM meters USING TIMESTAMP ? WHERE bucket = ? AND account_id = ?';

/** Above every version that a meter may come to. */
const LAST_VERSION = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Meters in Cassandra. Every write carries the head's version as its timestamp, so that the higher
 * version wins whatever comes late or twice (architecture 3.2). Reading what is not as it was
 * written throws `CorruptState`.
 */
export function cassandraMeterStore(session: CassandraSession, bucketOf: BucketOf): ErasableMeters {
  return {
    bucketOf,
    async readHead(accountId) {
      const options: StatementOptions = { kind: 'read', operation: 'meter_read' };
      const { rows } = await session.execute(READ, [bucketOf(accountId), accountId], options);
      return rows[0] === undefined ? undefined : decodeMeter(accountId, rows[0]['state']);
    },
    async checkpoint(checkpoints) {
      assert(checkpoints.length <= HEADS_MAX, `more than ${HEADS_MAX} meters at once`);
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
      await session.execute(ERASE, [LAST_VERSION, bucketOf(accountId), accountId], options);
    },
  };
}
