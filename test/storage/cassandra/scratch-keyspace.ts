import type { CassandraSession } from '#storage/cassandra/session';

/** Timeout of a schema change on a busy machine, in milliseconds. */
const SCHEMA_MS_MAX = 60_000;

/** Changes the schema with a long timeout and without metrics. */
export async function changeSchema(session: CassandraSession, statement: string): Promise<void> {
  const options = { kind: 'schema', operation: 'schema', timeoutMs: SCHEMA_MS_MAX } as const;
  await session.execute(statement, [], options);
}
