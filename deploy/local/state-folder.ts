import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** The block of ports of the local cluster unless `CLUSTER_PORT` names another; see `clusterPlan`. */
const PORTS = 8_400;

/** Above this a block would not fit below the last port. */
const PORTS_MAX = 65_000;

/**
 * Where the local cluster keeps its state between runs: `CLUSTER_FOLDER`, else a folder of this user
 * outside the repository.
 */
export function clusterFolder(): string {
  const configured = process.env['CLUSTER_FOLDER'] ?? '';
  if (configured !== '') return resolve(configured);
  const root = process.env['XDG_STATE_HOME'] ?? '';
  const state = root === '' ? join(homedir(), '.local/state') : root;
  return join(state, 'identity-engine/cluster');
}

/** The first port of the local cluster, which is its address. Throws when `CLUSTER_PORT` is no port. */
export function clusterPorts(): number {
  const text = process.env['CLUSTER_PORT'] ?? '';
  if (text === '') return PORTS;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= PORTS_MAX) return port;
  throw new Error(`CLUSTER_PORT: must be a port up to ${PORTS_MAX}, not "${text}"`);
}
