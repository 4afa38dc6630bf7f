import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { types } from 'cassandra-driver';
import {
  type ClusterPlan,
  type ClusterSize,
  hostAndPort,
  type PlannedProcess,
  processFolder,
} from '#deploy/local/cluster-plan';
import { lookAtCassandra } from '#deploy/local/servers/cassandra-answer';
import type { CassandraRing } from '#deploy/local/servers/cassandra-server';

/** Maximum time until running servers form a ring, in ms. On loopback, this takes seconds. */
const RING_MS_MAX = 60_000;
const POLL_INTERVAL_MS = 500;

/**
 * Reads a missing row. With consistency ALL, the read needs an answer from every server, because
 * this keyspace of Cassandra has replication factor 3.
 */
const READ_EVERY_COPY = `SELECT parent_id FROM system_distributed.parent_repair_history
  WHERE parent_id = 00000000-0000-1000-8000-000000000000`;

/** Ring of a Cassandra server in the plan; undefined for a single server. */
export function ringOf(
  { host, otherPorts }: PlannedProcess,
  { processes }: ClusterPlan,
): CassandraRing | undefined {
  const [storagePort] = otherPorts ?? [];
  if (host === undefined || storagePort === undefined) return undefined;
  const servers = processes.filter(({ kind }) => kind === 'cassandra');
  return { host, storagePort, hosts: servers.flatMap((server) => server.host ?? []) };
}

/** Resolves when every server reaches all other servers. Throws after a minute. */
export async function ringFormed(servers: readonly PlannedProcess[]): Promise<void> {
  if (servers.length < 2) return;
  const deadlineMs = performance.now() + RING_MS_MAX;
  for (const server of servers) {
    const ask = () =>
      lookAtCassandra(hostAndPort(server), READ_EVERY_COPY, types.consistencies.all);
    while (!(await isFulfilled(ask()))) {
      if (performance.now() > deadlineMs) {
        throw new Error(`${server.name} does not reach the other Cassandra nodes`);
      }
      await sleep(POLL_INTERVAL_MS);
    }
  }
}

/** Throws a one-line error if the folder's data is from another number of Cassandra nodes. */
export function assertSameNodeCount({ folder, cassandra, cassandraNodes = 1 }: ClusterSize): void {
  if (cassandra !== undefined) return;
  const storedCount = cassandraNodesOf(folder);
  if (storedCount === undefined || storedCount === cassandraNodes) return;
  const nodes = (count: number) => `${count} Cassandra node${count === 1 ? '' : 's'}`;
  throw new Error(
    `${folder} has the data of ${nodes(storedCount)}, but the cluster has ${nodes(cassandraNodes)}: ` +
      `use CASSANDRA=${storedCount}, or another CLUSTER_FOLDER`,
  );
}

/** Number of Cassandra nodes that created the folder's data; undefined for a new folder. */
export function cassandraNodesOf(folder: string): number | undefined {
  return [1, 3].find((count) => hasData(folder, count));
}

function hasData(folder: string, count: number): boolean {
  const name = count === 1 ? 'cassandra' : 'cassandra1';
  return existsSync(join(processFolder(folder, name), 'state'));
}

function isFulfilled(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}
