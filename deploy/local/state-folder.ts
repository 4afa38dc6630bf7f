import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ClusterSize } from '#deploy/local/cluster-plan';

/** The block of ports of the local cluster unless `CLUSTER_PORT` names another; see `clusterPlan`. */
const PORTS = 8_400;

/** Above this a block would not fit below the last port. */
const PORTS_MAX = 65_000;

/**
 * Where the local cluster keeps its state between runs: `CLUSTER_FOLDER`, else a folder of this user
 * outside the repository.
 */
export function clusterFolder(): string {
  const configured = variable('CLUSTER_FOLDER');
  if (configured !== undefined) return resolve(configured);
  const state = variable('XDG_STATE_HOME') ?? join(homedir(), '.local/state');
  return join(state, 'identity-engine/cluster');
}

/** The local cluster as the environment wants it: `CLUSTER_FOLDER`, `_PORT`, `_CASSANDRA`, `_NATS`. */
export function wantedCluster(): ClusterSize {
  const size = { folder: clusterFolder(), ports: clusterPorts() };
  return { ...size, cassandra: variable('CLUSTER_CASSANDRA'), nats: variable('CLUSTER_NATS') };
}

/** The first port of the local cluster, which is its address. Throws when `CLUSTER_PORT` is no port. */
function clusterPorts(): number {
  const text = variable('CLUSTER_PORT');
  if (text === undefined) return PORTS;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= PORTS_MAX) return port;
  throw new Error(`CLUSTER_PORT: must be a port up to ${PORTS_MAX}, not "${text}"`);
}

/** An empty variable is one that is not set. */
function variable(name: string): string | undefined {
  const text = process.env[name] ?? '';
  return text === '' ? undefined : text;
}
