import type { types } from 'cassandra-driver';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';

/** Required settings of the servers, and the reason for each. Source: architecture 6. */
export const NEEDED_SETTINGS: Record<string, { readonly value: string; readonly reason: string }> =
  {
    paxos_variant: {
      value: 'v2',
      reason: 'v1 needs twice the round trips for changes of shard owners and journal ends',
    },
    commitlog_sync: {
      value: 'batch',
      reason:
        'periodic loses acknowledged writes on a power loss of all replicas; group delays every append',
    },
  };

/** Minimum replication factor with which the service survives the loss of a server. */
export const SAFE_REPLICATION = 3;

const READ_SETTINGS = 'SELECT name, value FROM system_views.settings WHERE name IN ?';
const READ_TABLES = `
  SELECT table_name, read_repair, default_time_to_live FROM system_schema.tables
  WHERE keyspace_name = ?`;
const READ_REPLICATION =
  'SELECT replication, durable_writes FROM system_schema.keyspaces WHERE keyspace_name = ?';

/** Tables whose readers must find everything that an earlier reader has found (decision 191). */
const REPAIRED_TABLES: readonly unknown[] = ['journal', 'seals', 'heads', 'meters'];

/**
 * Problems of the setup, one line each: settings of every server that is up, the replication factor
 * in `dataCenter`, and manual changes of the tables. Rejects with `service_unavailable`.
 */
export async function serverProblems(
  session: CassandraSession,
  keyspace: string,
  dataCenter: string,
): Promise<string[]> {
  const settings: StatementOptions = { kind: 'read', operation: 'settings_read' };
  const names = Object.keys(NEEDED_SETTINGS);
  const servers = await session.executeOnEach(READ_SETTINGS, [names], settings);
  const problems = servers.flatMap(({ server, outcome }) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return settingProblems(server, outcome.value.rows);
  });
  const { rows } = await session.execute(READ_REPLICATION, [keyspace], settings);
  const tables = await session.execute(READ_TABLES, [keyspace], settings);
  return [
    ...problems,
    ...replicationProblems(keyspace, dataCenter, rows[0]),
    ...tables.rows.flatMap((row) => tableProblems(keyspace, row)),
  ];
}

function tableProblems(keyspace: string, row: types.Row): string[] {
  const name = `table ${keyspace}.${row['table_name']}`;
  const problems: string[] = [];
  if (REPAIRED_TABLES.includes(row['table_name']) && row['read_repair'] !== 'BLOCKING') {
    const text = `read_repair is ${row['read_repair']}, not BLOCKING`;
    problems.push(`${name}: ${text} (a new owner may miss data that another node has read)`);
  }
  if (row['default_time_to_live'] !== 0) {
    const text = `default_time_to_live is ${row['default_time_to_live']}, not 0`;
    problems.push(`${name}: ${text} (acknowledged data would expire)`);
  }
  return problems;
}

function settingProblems(server: string, rows: readonly types.Row[]): string[] {
  const found = new Map(rows.map((row) => [String(row['name']), String(row['value'])]));
  return Object.entries(NEEDED_SETTINGS).flatMap(([name, { value, reason }]) => {
    const actual = found.get(name);
    if (actual === value) return [];
    return [`Cassandra ${server}: ${name} is ${actual ?? 'unknown'}, not ${value} (${reason})`];
  });
}

function replicationProblems(
  keyspace: string,
  dataCenter: string,
  row: types.Row | undefined,
): string[] {
  if (row === undefined) return [`keyspace ${keyspace} does not exist: run main.ts migrate`];
  const replication: Readonly<Record<string, string>> = row['replication'];
  if (row['durable_writes'] === false) {
    return [`keyspace ${keyspace} has durable_writes = false: acknowledged data is only in memory`];
  }
  const copies = replication[dataCenter] ?? replication['replication_factor'] ?? '0';
  if (Number.parseInt(copies, 10) >= SAFE_REPLICATION) return [];
  const text = `keyspace ${keyspace} keeps ${copies} copies in data center ${dataCenter}`;
  return [
    `${text}, not ${SAFE_REPLICATION}: the loss of one server loses data or stops the service`,
  ];
}
