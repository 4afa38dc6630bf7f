import { Fault } from '#fault/fault';
import { type Clock, sleep } from '#platform/clock';
import { conditionalAnswerOf } from '#storage/cassandra/conditional-answer';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';

/** How long a lock stands: longer than renewing it and a change of the schema take. Seconds. */
const LOCK_SECONDS = 90;

/**
 * How long a statement of a migration may take. Milliseconds. A server that has just made tables is
 * busy with them, and only its caller waits.
 */
export const SCHEMA_MS_MAX = 30_000;

/** Between two looks at a lock that another holds. Milliseconds. */
const LOOK_MS = 500;

const TAKE = `UPDATE schema_versions USING TTL ${LOCK_SECONDS} SET lock_holder = ?
  WHERE component = 'tables' IF lock_holder = null`;
const RENEW = `UPDATE schema_versions USING TTL ${LOCK_SECONDS} SET lock_holder = ?
  WHERE component = 'tables' IF lock_holder = ?`;
const RELEASE = `DELETE lock_holder FROM schema_versions WHERE component = 'tables'
  IF lock_holder = ?`;

/** What only one process at a time may hold; it falls to the next when its holder dies. */
export type SchemaLock = AsyncDisposable & {
  /** Makes sure that the lock is still held. Rejects with `conflict` when it is not. */
  renew(): Promise<void>;
};

/** Waits for the lock, at most `waitMs`; then rejects with `conflict`. */
export async function takeSchemaLock(
  session: CassandraSession,
  clock: Clock,
  holder: string,
  waitMs: number,
): Promise<SchemaLock> {
  const isApplied = (query: string, params: readonly string[]) =>
    conditional(session, query, params);
  const renewed = () => isApplied(RENEW, [holder, holder]);
  const endMs = clock.monotonicMs() + waitMs;
  // A try whose answer got lost may have taken it: then it is there to be renewed.
  while (!((await isApplied(TAKE, [holder])) || (await renewed()))) {
    if (clock.monotonicMs() >= endMs) throw held('another process is changing the schema');
    await sleep(clock, LOOK_MS);
  }
  return {
    async renew() {
      if (!(await renewed())) throw held('the lock of the schema was lost to another process');
    },
    async [Symbol.asyncDispose]() {
      await isApplied(RELEASE, [holder]);
    },
  };
}

async function conditional(
  session: CassandraSession,
  query: string,
  params: readonly string[],
): Promise<boolean> {
  const options: StatementOptions = {
    kind: 'conditional',
    operation: 'schema_lock',
    timeoutMs: SCHEMA_MS_MAX,
  };
  return conditionalAnswerOf(await session.execute(query, params, options)).isApplied;
}

function held(text: string): Fault {
  return new Fault('conflict', text, { retryAfterS: LOCK_SECONDS });
}
