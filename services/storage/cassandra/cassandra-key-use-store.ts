import { types } from 'cassandra-driver';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import type { KeyUse, KeyUseStore } from '#storage/key-use-store';

const FIND = 'SELECT digest, minute, caller FROM key_uses WHERE account_id = ?';
const NOTE = `INSERT INTO key_uses (account_id, digest, minute, caller) VALUES (?, ?, ?, ?)
  USING TIMESTAMP ?`;
const ERASE = 'DELETE FROM key_uses USING TIMESTAMP ? WHERE account_id = ?';

/** Above every minute. */
const LAST_MINUTE = BigInt(Number.MAX_SAFE_INTEGER);

/** Last uses in Cassandra. Every write carries its minute as its timestamp, so the later one wins. */
export function cassandraKeyUseStore(session: CassandraSession): KeyUseStore {
  return {
    async note(accountId, { digest, minute, address = null, client = null }) {
      const options: StatementOptions = { kind: 'write', operation: 'key_use_write' };
      const version = BigInt(minute);
      const caller = new types.Tuple(address, client);
      await session.execute(NOTE, [accountId, digest, version, caller, version], options);
    },
    async find(accountId) {
      const options: StatementOptions = { kind: 'read', operation: 'key_use_read' };
      const uses: KeyUse[] = [];
      for await (const page of session.pages(FIND, [accountId], options)) {
        uses.push(...page.map(useFrom));
      }
      return uses;
    },
    async erase(accountId) {
      const options: StatementOptions = { kind: 'write', operation: 'key_use_erase' };
      await session.execute(ERASE, [LAST_MINUTE, accountId], options);
    },
  };
}

function useFrom(row: types.Row): KeyUse {
  const caller: types.Tuple = row['caller'];
  const part = (index: number): string | undefined => caller.get(index) ?? undefined;
  return {
    digest: row['digest'],
    minute: Number(row['minute']),
    address: part(0),
    client: part(1),
  };
}
