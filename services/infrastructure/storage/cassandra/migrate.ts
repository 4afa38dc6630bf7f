import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { types } from 'cassandra-driver';
import { Fault } from '#errors/fault';
import { type Clock, sleep } from '#stdlib/clock';
import type { Randomness } from '#stdlib/randomness';
import {
  type CassandraSession,
  STATEMENT_MS_MAX,
  type StatementOptions,
} from '#storage/cassandra/session';
import { conditionalAnswerOf } from '#storage/cassandra/statements';
import { type SchemaVersion, versionsIn } from '#storage/ports/schema-versions';

/** Replication of the keyspace. Source: architecture 6. */
type Replication =
  /** The same factor for all data centers. For a single server. */
  | { readonly kind: 'simple'; readonly factor: number }
  /** A factor per data center, by name. For production. */
  | { readonly kind: 'by_data_center'; readonly factors: Readonly<Record<string, number>> };

/** Dependencies of a migration besides the session. */
export type MigrationPorts = {
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Prints each step in a few words. */
  readonly print: (text: string) => void;
  /** Schema versions for tests; undefined: the versions in schema.cql. */
  readonly versions?: readonly SchemaVersion[];
};

/** Maximum wait for another process that migrates, in milliseconds. */
const LOCK_WAIT_MS_MAX = 120_000;

/** Names that need no quotes anywhere: letters, digits and underscores. */
const NAME = /^[a-z][a-z0-9_]{0,47}$/;

const CREATE_VERSIONS = `CREATE TABLE IF NOT EXISTS schema_versions (
  component text, version int, programs_from int, lock_holder text STATIC,
  PRIMARY KEY (component, version)
) WITH id = `;
// Tables of old versions lack this column.
const ADD_PROGRAMS = 'ALTER TABLE schema_versions ADD IF NOT EXISTS programs_from int';
const FIND_VERSIONS = `SELECT table_name FROM system_schema.tables
  WHERE keyspace_name = ? AND table_name = 'schema_versions'`;
// Selects all columns, because older tables lack some.
const READ_VERSIONS = 'SELECT * FROM schema_versions WHERE component = ?';
const ADD_VERSION = `INSERT INTO schema_versions (component, version, programs_from)
  VALUES (?, ?, ?) IF NOT EXISTS`;

/** Component under which the table versions are counted. */
const COMPONENT = 'tables';

/** Component of tables from before the first release. */
const COMPONENT_BEFORE = 'storage';

/**
 * Creates the keyspace if missing; an existing keyspace keeps its replication. `session` has no
 * keyspace. Throws a RangeError for an invalid name, data center or factor.
 */
export async function createKeyspace(
  session: CassandraSession,
  keyspace: string,
  replication: Replication,
): Promise<void> {
  if (!NAME.test(keyspace)) throw new RangeError(`"${keyspace}" cannot be the name of a keyspace`);
  const statement = `CREATE KEYSPACE IF NOT EXISTS ${keyspace}
    WITH replication = ${replicationText(replication)}`;
  await applied(session, statement);
}

/**
 * Migrates the tables of the session's keyspace to the newest version that this program knows. May
 * be repeated, and may be interrupted at any point. Concurrent migrations wait for each other
 * (schema lock). Tables of a newer version stay unchanged if they allow this program. Rejects with
 * `conflict` if they do not, or if another process holds the lock for too long.
 */
export async function migrate(session: CassandraSession, ports: MigrationPorts): Promise<void> {
  const known = ports.versions ?? knownVersions();
  const { clock, randomness, print } = ports;
  await applied(session, CREATE_VERSIONS + tableIdOf(session.keyspace));
  await using lock = await takeSchemaLock(session, clock, randomness.hex(16), LOCK_WAIT_MS_MAX);
  const present = await presentTables(session, SCHEMA_MS_MAX);
  assertUsable(present, known.length);
  await applied(session, ADD_PROGRAMS);
  for (const { version, statements, programsFrom = version } of known.slice(present.version)) {
    await applyVersion(session, lock, statements);
    await session.execute(ADD_VERSION, [COMPONENT, version, programsFrom], {
      kind: 'conditional',
      operation: 'schema_versions_write',
      timeoutMs: SCHEMA_MS_MAX,
    });
    print(`schema version ${version} applied`);
  }
  if (present.version < known.length) return;
  print(`schema version ${present.version} is already applied`);
}

/**
 * Checks at the start of a process that the keyspace has the tables that this program needs. Tables
 * of a newer version are accepted if they allow this program (decision 239). Rejects with
 * `conflict` and a line that names the next step. `known`: for tests.
 */
export async function assertSchema(
  session: CassandraSession,
  known: readonly SchemaVersion[] = knownVersions(),
): Promise<void> {
  const needed = known.length;
  const present = await presentTables(session);
  assertUsable(present, needed);
  if (present.version >= needed) return;
  const { version } = present;
  const what = version === 0 ? 'there are no tables yet' : `the tables are of version ${version}`;
  throw new Fault('conflict', `${what}, version ${needed} is needed: run main.ts migrate`);
}

async function applyVersion(
  session: CassandraSession,
  lock: SchemaLock,
  statements: readonly string[],
): Promise<void> {
  for (const statement of statements) {
    await lock.renew();
    await applied(session, statement);
  }
}

/**
 * Newest version of the tables (0: no tables), and the lowest version that a program must know to
 * use the tables.
 */
type Tables = { readonly version: number; readonly programsFrom: number };

async function presentTables(
  session: CassandraSession,
  timeoutMs = STATEMENT_MS_MAX,
): Promise<Tables> {
  const operation = 'schema_versions_read';
  const options: StatementOptions = { kind: 'serial_read', operation, timeoutMs };
  const found = await session.execute(FIND_VERSIONS, [session.keyspace], {
    ...options,
    kind: 'read',
  });
  if (found.rows.length === 0) return { version: 0, programsFrom: 0 };
  const [now, before] = await Promise.all(
    [COMPONENT, COMPONENT_BEFORE].map((name) => session.execute(READ_VERSIONS, [name], options)),
  );
  assertNotBefore(session.keyspace, before?.rows ?? []);
  const rows = now?.rows ?? [];
  const versions = rows.map((row) => Number(row['version']));
  // Versions without this column allow only programs that know them.
  const bounds = rows.map((row) => Number(row['programs_from'] ?? row['version']));
  return { version: Math.max(0, ...versions), programsFrom: Math.max(0, ...bounds) };
}

/**
 * Id of the first table, derived from the keyspace name. If two processes create the table at the
 * same time through different servers, they create the same table. Table ids in a cluster must
 * differ.
 */
function tableIdOf(keyspace: string): string {
  const hex = hash('sha256', `schema_versions of ${keyspace}`);
  // Version and variant digits of a version 8 UUID (a custom UUID).
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Refuses tables from before the first release, which no release has created. */
function assertNotBefore(keyspace: string, rows: readonly types.Row[]): void {
  if (rows.every((row) => row['version'] === null)) return;
  const what = `keyspace ${keyspace} holds tables from before the first release`;
  const remedy = `drop it (DROP KEYSPACE ${keyspace}), or name a new one`;
  throw new Fault('conflict', `${what}, which this program cannot read: ${remedy}`);
}

function assertUsable({ version, programsFrom }: Tables, known: number): void {
  if (programsFrom <= known) return;
  const text = `the tables are of version ${version}, this program knows up to ${known}`;
  throw new Fault('conflict', `${text}: run a newer release`);
}

/** Runs a schema change and waits until all servers have the new schema. */
async function applied(session: CassandraSession, statement: string): Promise<void> {
  const options: StatementOptions = {
    kind: 'schema',
    operation: 'schema_change',
    timeoutMs: SCHEMA_MS_MAX,
  };
  const { info } = await session.execute(statement, [], options);
  // The driver sets this field after every schema change, but its types lack it.
  if (Reflect.get(info, 'isSchemaInAgreement') === true) return;
  throw new Fault('service_unavailable', 'the servers do not agree on the schema', {
    retryAfterS: 10,
    isOutcomeUnknown: true,
  });
}

function replicationText(replication: Replication): string {
  switch (replication.kind) {
    case 'simple':
      return `{'class': 'SimpleStrategy', 'replication_factor': ${count(replication.factor)}}`;
    case 'by_data_center': {
      const factors = Object.entries(replication.factors).map(([dataCenter, factor]) => {
        if (/['\\]/.test(dataCenter)) throw new RangeError(`no data center is named ${dataCenter}`);
        return `, '${dataCenter}': ${count(factor)}`;
      });
      return `{'class': 'NetworkTopologyStrategy'${factors.join('')}}`;
    }
  }
}

function count(factor: number): number {
  if (Number.isInteger(factor) && factor >= 1) return factor;
  throw new RangeError(`${factor} cannot be a replication factor: use a whole number from 1`);
}

/** Lifetime of the lock, in seconds. Longer than a renewal plus a schema change. */
const LOCK_SECONDS = 90;

/**
 * Timeout of a migration statement, in milliseconds. A server is busy after it has created tables,
 * and only the migration waits.
 */
const SCHEMA_MS_MAX = 30_000;

/** Interval between attempts to take a lock that another process holds, in milliseconds. */
const TAKE_PERIOD_MS = 500;

const TAKE = `UPDATE schema_versions USING TTL ${LOCK_SECONDS} SET lock_holder = ?
  WHERE component = 'tables' IF lock_holder = null`;
const RENEW = `UPDATE schema_versions USING TTL ${LOCK_SECONDS} SET lock_holder = ?
  WHERE component = 'tables' IF lock_holder = ?`;
const RELEASE = `DELETE lock_holder FROM schema_versions WHERE component = 'tables'
  IF lock_holder = ?`;

/**
 * Lock of the schema, held by at most one process. The lock expires if its holder ends without
 * releasing it.
 */
type SchemaLock = AsyncDisposable & {
  /** Renews the lock. Rejects with `conflict` if the lock was lost. */
  renew(): Promise<void>;
};

/** Waits at most `waitMs` for the lock, then rejects with `conflict`. */
async function takeSchemaLock(
  session: CassandraSession,
  clock: Clock,
  holder: string,
  waitMs: number,
): Promise<SchemaLock> {
  const isApplied = (query: string, params: readonly string[]) =>
    conditional(session, query, params);
  const renewed = () => isApplied(RENEW, [holder, holder]);
  const endMs = clock.monotonicMs() + waitMs;
  // An attempt whose answer was lost may have taken the lock. In that case the renewal succeeds.
  while (!((await isApplied(TAKE, [holder])) || (await renewed()))) {
    if (clock.monotonicMs() >= endMs)
      throw held('another process is changing the schema: try again later');
    await sleep(clock, TAKE_PERIOD_MS);
  }
  return {
    async renew() {
      if (!(await renewed()))
        throw held('another process has taken the schema lock: run the migration again');
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

/** Schema versions that this program knows, oldest first. Source: schema.cql. */
export function knownVersions(): SchemaVersion[] {
  return versionsIn(readFileSync(new URL('schema.cql', import.meta.url), 'utf8'));
}
