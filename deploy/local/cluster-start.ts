import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ClusterSize, clusterPlan } from '#deploy/local/cluster-plan';
import { readCluster, supervisorFolder } from '#deploy/local/cluster-record';
import { endLeftovers } from '#deploy/local/processes/leftovers';
import { environmentOf } from '#deploy/local/processes/service-process';
import type { SupervisorMessage } from '#deploy/local/processes/supervisor';
import type { Print } from '#deploy/local/progress';
import { assertSameNodeCount } from '#deploy/local/servers/cassandra-ring';
import { endProcess, runningServer } from '#deploy/local/servers/server-record';

const SUPERVISOR = fileURLToPath(import.meta.resolve('#deploy/local/processes/supervisor'));

/** Maximum time of a stop, in ms: about 20 s per kind of process, sequentially. */
const STOP_MS_MAX = 150_000;

/** Interval of checks while another process starts the cluster, in ms. */
const LOOK_EVERY_MS = 500;

/**
 * Starts a cluster that outlives this process, and resolves when the cluster is ready. If a cluster
 * already runs in the folder, waits for that cluster. Throws with the reason if the start fails.
 */
export async function startCluster(size: ClusterSize, print: Print): Promise<void> {
  const { folder } = size;
  assertSameNodeCount(size);
  const running = runningServer(supervisorFolder(folder));
  if (running === undefined) return supervise(size, print);
  print(`a cluster already runs in ${folder}`);
  while (readCluster(folder)?.isReady !== true) {
    if (runningServer(supervisorFolder(folder)) === undefined)
      throw new Error(`the cluster ended during its start; see ${clusterPlan(size).logFolder}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/**
 * Stops the folder's cluster cleanly and keeps its state. Returns whether a process was running.
 */
export async function stopCluster(folder: string): Promise<boolean> {
  const supervisor = runningServer(supervisorFolder(folder));
  if (supervisor !== undefined) await endProcess(supervisor, STOP_MS_MAX);
  const left = await endLeftovers(folder);
  return supervisor !== undefined || left.length > 0;
}

async function supervise(size: ClusterSize, print: Print): Promise<void> {
  const { logFolder } = clusterPlan(size);
  mkdirSync(logFolder, { recursive: true });
  const log = openSync(join(logFolder, 'supervisor.log'), 'a');
  const child = spawn(process.execPath, [SUPERVISOR, JSON.stringify(size)], {
    env: environmentOf({}),
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.on('message', (message: SupervisorMessage) => {
    if (message.kind === 'line') print(message.line);
    else if (message.kind === 'ready') resolve();
    else reject(new Error(message.reason));
  });
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the supervisor ended with ${code ?? signal}; see ${logFolder}`);
  });
  await Promise.race([promise, ended]);
  ended.catch(() => undefined);
  child.disconnect();
  child.unref();
}
