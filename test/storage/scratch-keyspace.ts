import type { CassandraSession } from '#storage/cassandra/session';

/** How long a change of the schema may take on a busy machine. Milliseconds. */
const SCHEMA_MS_MAX = 60_000;

/** Changes keyspaces and tables: there is no hurry, and nothing to measure. */
export async function changeSchema(session: CassandraSession, statement: string): Promise<void> {
  const options = { kind: 'schema', operation: 'schema', timeoutMs: SCHEMA_MS_MAX } as const;
  await session.execute(statement, [], options);
}
