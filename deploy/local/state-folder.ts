import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ClusterSize } from '#deploy/local/cluster-plan';

/**
 * Default first port of the local cluster; `CLUSTER_PORT` overrides the default. See `clusterPlan`.
 */
const PORTS = 8_400;

/** Maximum first port: the block must fit below the last port. */
const PORTS_MAX = 65_000;

/** State folder of the local cluster: `CLUSTER_FOLDER`, or a folder in this user's home. */
export function clusterFolder(): string {
  const configured = variable('CLUSTER_FOLDER');
  if (configured !== undefined) return resolve(configured);
  const state = variable('XDG_STATE_HOME') ?? join(homedir(), '.local/state');
  return join(state, 'identity-engine/cluster');
}

/** Reads the local cluster's size from `CLUSTER_FOLDER`, `_PORT`, `_CASSANDRA` and `_NATS`. */
export function wantedCluster(): ClusterSize {
  const size = { folder: clusterFolder(), ports: clusterPorts() };
  return { ...size, cassandra: variable('CLUSTER_CASSANDRA'), nats: variable('CLUSTER_NATS') };
}

/** First port of the local cluster. Throws if `CLUSTER_PORT` is invalid. */
function clusterPorts(): number {
  const text = variable('CLUSTER_PORT');
  if (text === undefined) return PORTS;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= PORTS_MAX) return port;
  throw new Error(`CLUSTER_PORT: must be a port up to ${PORTS_MAX}, not "${text}"`);
}

/** An environment variable; undefined if empty or unset. */
function variable(name: string): string | undefined {
  const text = process.env[name] ?? '';
  return text === '' ? undefined : text;
}
