import { setTimeout as sleep } from 'node:timers/promises';
import type { CassandraSession } from '#storage/cassandra/session';
import { changeSchema } from '#test/storage/scratch-keyspace';

/** How soon a table writes to disk what it has in memory, in ms. Chosen. */
const FLUSH_PERIOD_MS = 1_000;

/**
 * Lets tables write to disk what they have in memory, without the server's own tools: by their
 * period, which stays as it is. `more` is a further option of theirs, changed together with it.
 */
export async function flushTables(
  session: CassandraSession,
  tables: readonly string[],
  more = '',
): Promise<void> {
  for (const table of tables) {
    const options = `memtable_flush_period_in_ms = ${FLUSH_PERIOD_MS}${more}`;
    await changeSchema(session, `ALTER TABLE ${table} WITH ${options}`);
  }
  await sleep(3 * FLUSH_PERIOD_MS);
}

/** Lets tables keep in memory again what they are sent, until it is much. */
export async function keepInMemory(
  session: CassandraSession,
  tables: readonly string[],
): Promise<void> {
  for (const table of tables) {
    await changeSchema(session, `ALTER TABLE ${table} WITH memtable_flush_period_in_ms = 0`);
  }
}
