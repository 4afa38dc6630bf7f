import { hash } from 'node:crypto';
import type { types } from 'cassandra-driver';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { Randomness } from '#platform/randomness';
import { SCHEMA_MS_MAX, type SchemaLock, takeSchemaLock } from '#storage/cassandra/schema-lock';
import { knownVersions, type SchemaVersion } from '#storage/cassandra/schema-versions';
import {
  type CassandraSession,
  STATEMENT_MS_MAX,
  type StatementOptions,
} from '#storage/cassandra/session';

/** How many servers hold a copy of everything. Source: architecture 6. */
export type Replication =
  /** The same number whatever the data center: for a single node. */
  | { readonly kind: 'simple'; readonly factor: number }
  /** A number for each data center by its name: for production. */
  | { readonly kind: 'by_data_center'; readonly factors: Readonly<Record<string, number>> };

/** What a migration needs besides the session. */
export type MigrationPorts = {
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Hears of each step in a few words. */
  readonly print: (text: string) => void;
  /** For tests; undefined: those of schema.cql. */
  readonly versions?: readonly SchemaVersion[];
};

/** How long to wait for another process that migrates. Milliseconds. */
const LOCK_WAIT_MS_MAX = 120_000;

/** Letters, digits and underscores: anything else would have to be quoted everywhere. */
const NAME = /^[a-z][a-z0-9_]{0,47}$/;

const CREATE_VERSIONS = `CREATE TABLE IF NOT EXISTS schema_versions (
  component text, version int, lock_holder text STATIC,
  PRIMARY KEY (component, version)
) WITH id = `;
const FIND_VERSIONS = `SELECT table_name FROM system_schema.tables
  WHERE keyspace_name = ? AND table_name = 'schema_versions'`;
const READ_VERSIONS = 'SELECT version FROM schema_versions WHERE component = ?';
const ADD_VERSION = 'INSERT INTO schema_versions (component, version) VALUES (?, ?) IF NOT EXISTS';

/** What counts the versions of today's tables, and what counted those before the first release. */
const COMPONENT = 'tables';
const COMPONENT_BEFORE = 'storage';

/**
 * Makes the keyspace unless it is there; an existing one keeps its replication. `session` has none.
 * Throws a RangeError for a name or a data center that cannot be one.
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
 * Brings the tables of the session's keyspace to the newest version that this program knows. May be
 * repeated, and be ended at any point; of two at once, one waits for the other. Rejects with
 * `conflict` when the tables are of a newer version, or when another process is at it for too long.
 */
export async function migrate(session: CassandraSession, ports: MigrationPorts): Promise<void> {
  const known = ports.versions ?? knownVersions();
  const { clock, randomness, print } = ports;
  await applied(session, CREATE_VERSIONS + tableIdOf(session.keyspace));
  await using lock = await takeSchemaLock(session, clock, randomness.hex(16), LOCK_WAIT_MS_MAX);
  const present = await presentVersion(session, SCHEMA_MS_MAX);
  assertNotNewer(present, known.length);
  for (const { version, statements } of known.slice(present)) {
    await applyVersion(session, lock, statements);
    await session.execute(ADD_VERSION, [COMPONENT, version], {
      kind: 'conditional',
      operation: 'schema_versions_write',
      timeoutMs: SCHEMA_MS_MAX,
    });
    print(`schema version ${version} applied`);
  }
  if (present === known.length) print(`schema version ${present} is there already`);
}

/**
 * Makes sure that the session's keyspace has the tables that this program needs, for a process that
 * starts. Rejects with `conflict` and one line that says what to do.
 */
export async function assertSchema(session: CassandraSession): Promise<void> {
  const needed = knownVersions().length;
  const present = await presentVersion(session);
  assertNotNewer(present, needed);
  if (present === needed) return;
  const what = present === 0 ? 'there are no tables yet' : `the tables are of version ${present}`;
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

/** The newest version of the tables, 0 when there are none. */
async function presentVersion(
  session: CassandraSession,
  timeoutMs = STATEMENT_MS_MAX,
): Promise<number> {
  const operation = 'schema_versions_read';
  const options: StatementOptions = { kind: 'serial_read', operation, timeoutMs };
  const found = await session.execute(FIND_VERSIONS, [session.keyspace], {
    ...options,
    kind: 'read',
  });
  if (found.rows.length === 0) return 0;
  const [now, before] = await Promise.all(
    [COMPONENT, COMPONENT_BEFORE].map((name) => session.execute(READ_VERSIONS, [name], options)),
  );
  assertNotBefore(session.keyspace, before?.rows ?? []);
  return Math.max(0, ...(now?.rows ?? []).map((row) => Number(row['version'])));
}

/**
 * The id of the first table, from the keyspace's name: two processes that make it at once through
 * different servers then make the same table. Ids of all tables of a cluster must differ.
 */
function tableIdOf(keyspace: string): string {
  const hex = hash('sha256', `schema_versions of ${keyspace}`);
  // The marks of a UUID of version 8, one by a rule of its own.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Tables from before the first release are not migrated: nothing that was released ever made them. */
function assertNotBefore(keyspace: string, rows: readonly types.Row[]): void {
  if (rows.every((row) => row['version'] === null)) return;
  const what = `keyspace ${keyspace} holds tables from before the first release`;
  const remedy = `drop it (DROP KEYSPACE ${keyspace}), or name a new one`;
  throw new Fault('conflict', `${what}, which this program cannot read: ${remedy}`);
}

function assertNotNewer(present: number, known: number): void {
  if (present <= known) return;
  const text = `the tables are of version ${present}, this program knows up to ${known}`;
  throw new Fault('conflict', `${text}: run a newer one`);
}

/** Runs a change of the schema and waits until all servers have it. */
async function applied(session: CassandraSession, statement: string): Promise<void> {
  const options: StatementOptions = {
    kind: 'schema',
    operation: 'schema_change',
    timeoutMs: SCHEMA_MS_MAX,
  };
  const { info } = await session.execute(statement, [], options);
  // Set after every change of the schema, though the driver's types do not name it.
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
  throw new RangeError(`${factor} cannot be a number of copies`);
}
