import { setTimeout as sleep } from 'node:timers/promises';
import type { CassandraSession } from '#storage/cassandra/session';
import { changeSchema } from '#test/storage/cassandra/scratch-keyspace';

/** Flush period of a table, in ms: short, so that a run waits only seconds. */
const FLUSH_PERIOD_MS = 1_000;

/**
 * Flushes tables to disk by setting their flush period, without Cassandra's own tools. The period
 * stays set. `more` is CQL text with further table options, such as ` AND compaction = {…}`.
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

/** Disables the flush period of tables. Cassandra then flushes only full memtables. */
export async function keepInMemory(
  session: CassandraSession,
  tables: readonly string[],
): Promise<void> {
  for (const table of tables) {
    await changeSchema(session, `ALTER TABLE ${table} WITH memtable_flush_period_in_ms = 0`);
  }
}
