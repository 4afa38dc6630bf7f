import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { types } from 'cassandra-driver';
import { lookAtCassandra } from '#deploy/local/cassandra-answer';
import type { CassandraRing } from '#deploy/local/cassandra-server';
import {
  type ClusterPlan,
  type ClusterSize,
  hostAndPort,
  type PlannedProcess,
  processFolder,
} from '#deploy/local/cluster-plan';

/** How long servers that answer may take to hear from each other: on loopback seconds. Milliseconds. */
const RING_MS_MAX = 60_000;
const ASK_EVERY_MS = 500;

/**
 * A read that every server has to answer: its keyspace is Cassandra's own, and keeps three copies. The
 * row is none that there could be.
 */
const READ_EVERY_COPY = `SELECT parent_id FROM system_distributed.parent_repair_history
  WHERE parent_id = 00000000-0000-1000-8000-000000000000`;

/** The ring that a Cassandra of the plan is part of; undefined if it is alone. */
export function ringOf(
  { host, otherPorts }: PlannedProcess,
  { processes }: ClusterPlan,
): CassandraRing | undefined {
  const [storagePort] = otherPorts ?? [];
  if (host === undefined || storagePort === undefined) return undefined;
  const servers = processes.filter(({ kind }) => kind === 'cassandra');
  return { host, storagePort, hosts: servers.flatMap((server) => server.host ?? []) };
}

/** Fulfils when each of several servers reaches all others; rejects after a minute. */
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
      await sleep(ASK_EVERY_MS);
    }
  }
}

/** Throws one line when the folder's data is that of another number of Cassandra nodes. */
export function assertBegunAlike({ folder, cassandra, cassandraNodes = 1 }: ClusterSize): void {
  if (cassandra !== undefined) return;
  const begunWith = cassandraNodesOf(folder);
  if (begunWith === undefined || begunWith === cassandraNodes) return;
  const nodes = (count: number) => `${count} Cassandra node${count === 1 ? '' : 's'}`;
  throw new Error(
    `${folder} was begun with ${nodes(begunWith)}, whose rows ${nodes(cassandraNodes)} would not have: ` +
      `use CASSANDRA=${begunWith}, or another CLUSTER_FOLDER`,
  );
}

/** How many Cassandra nodes a folder was begun with; undefined for a new one. */
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
