import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClusterSize, clusterPlan } from '#deploy/local/cluster-plan';
import { supervisorFolder, writeCluster } from '#deploy/local/cluster-record';
import { type LocalCluster, openLocalCluster } from '#deploy/local/local-cluster';
import { rotateLogs } from '#deploy/local/processes/log-rotation';
import { birthOf } from '#deploy/local/processes/process-birth';
import { claimFolder, runningServer } from '#deploy/local/servers/server-record';
import { every, systemClock } from '#stdlib/clock';
import { STANDARD_OUTPUT } from '#telemetry/logger';

/*
 * Supervisor of a local cluster: restarts processes, as an orchestrator would. During the start,
 * the supervisor reports progress to its parent and ends if the parent ends. When the cluster is
 * ready, the supervisor outlives its parent. SIGTERM stops all processes cleanly.
 *
 * Usage: node deploy/local/processes/supervisor.ts CLUSTER_SIZE_AS_JSON (with an IPC channel)
 */

/** Message of the supervisor to its parent. */
export type SupervisorMessage =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: string };

/** Interval at which to store restart counts, in ms. */
const WRITE_EVERY_MS = 500;

/** Interval of log rotation, in milliseconds. */
const ROTATE_EVERY_MS = 5_000;

const size: ClusterSize = JSON.parse(process.argv[2] ?? '');
const { folder } = size;

// All processes of the cluster end with this process, so an exit is enough.
const exit = (): void => process.exit(1);
process.on('disconnect', exit);
process.on('SIGINT', exit).on('SIGTERM', exit);

try {
  await claim();
  await writeCluster(folder, { size, isReady: false, restarts: {} });
  const cluster = await openLocalCluster({ ...size, print });
  process.off('disconnect', exit).off('SIGINT', exit).off('SIGTERM', exit);
  const stopping = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  await writeCluster(folder, { size, isReady: true, restarts: {} });
  send({ kind: 'ready' });
  every(systemClock, ROTATE_EVERY_MS, rotate);
  await Promise.race([stopping, keepCounting(cluster)]);
  log('stopping all processes');
  await cluster[Symbol.asyncDispose]();
  process.exit(0);
} catch (error) {
  const { message } = error as Error;
  log(message);
  send({ kind: 'failed', reason: message }, exit);
}

async function claim(): Promise<void> {
  const own = supervisorFolder(folder);
  await mkdir(own, { recursive: true });
  const { pid } = process;
  const isClaimed = await claimFolder(own, {
    name: 'supervisor',
    pid,
    birth: birthOf(pid) ?? '',
    startedAt: new Date().toISOString(),
    address: '',
    logFile: '',
  });
  if (!isClaimed)
    throw new Error(`a cluster already runs in ${folder}, as process ${runningServer(own)?.pid}`);
}

/** Stores restart counts, which `make cluster-status` shows; never resolves. */
async function keepCounting(cluster: LocalCluster): Promise<never> {
  for (let written = ''; ; ) {
    const restarts = cluster.restarts;
    const text = JSON.stringify(restarts);
    if (text !== written && (await storeCounts(restarts))) written = text;
    await sleep(WRITE_EVERY_MS);
  }
}

/** Rotates long logs; logs errors, because a full disk must not end the cluster. */
function rotate(): void {
  try {
    rotateLogs(clusterPlan(size).logFolder);
  } catch (error) {
    log(`could not rotate logs: ${(error as Error).message}`);
  }
}

/** Stores restart counts; returns false on errors, because a full disk must not end the cluster. */
async function storeCounts(restarts: LocalCluster['restarts']): Promise<boolean> {
  try {
    await writeCluster(folder, { size, isReady: true, restarts });
    return true;
  } catch (error) {
    log(`could not store restart counts: ${(error as Error).message}`);
    return false;
  }
}

function print(line: string): void {
  log(line);
  send({ kind: 'line', line });
}

function log(line: string): void {
  const lostBefore = STANDARD_OUTPUT.lost;
  STANDARD_OUTPUT.write(`${new Date().toISOString()} ${line}\n`);
  if (lostBefore > 0 || STANDARD_OUTPUT.lost === 0) return;
  // First lost line: report the loss to the parent's terminal.
  const reason = STANDARD_OUTPUT.lastError?.message;
  send({ kind: 'line', line: `could not write supervisor.log, so lines are lost: ${reason}` });
}

function send(message: SupervisorMessage, then: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, then);
  else then();
}
