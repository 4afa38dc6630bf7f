import { decodeMeter, encodeMeter } from '#storage/cassandra/meter-codec';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import type { MeterStore } from '#storage/meter-store';

const READ = 'SELECT state FROM meters WHERE account_id = ?';
const WRITE = 'INSERT INTO meters (account_id, state) VALUES (?, ?) USING TIMESTAMP ?';

/**
 * Meters in Cassandra. Every write carries the head's version as its timestamp, so that the higher
 * version wins whatever comes late or twice (architecture 3.2). Reading what is not as it was
 * written throws `CorruptState`.
 */
export function cassandraMeterStore(session: CassandraSession): MeterStore {
  return {
    async readHead(accountId) {
      const options: StatementOptions = { kind: 'read', operation: 'meter_read' };
      const { rows } = await session.execute(READ, [accountId], options);
      return rows[0] === undefined ? undefined : decodeMeter(accountId, rows[0]['state']);
    },
    async checkpoint(accountId, head) {
      const options: StatementOptions = { kind: 'write', operation: 'meter_write' };
      const params = [accountId, encodeMeter(head), BigInt(head.version)];
      await session.execute(WRITE, params, options);
    },
  };
}
