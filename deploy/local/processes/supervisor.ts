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
 * Supervisor of a local cluster: keeps every process running, as an orchestrator would. The
 * supervisor outlives the process that started it. Until the cluster is ready it reports progress,
 * and it ends if that process ends. SIGTERM stops all processes in order.
 *
 * Usage: node deploy/local/processes/supervisor.ts CLUSTER_SIZE_AS_JSON (with an IPC channel)
 */

/** Message of a supervisor to the process that started it. */
export type SupervisorMessage =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: string };

/** Interval at which restart counts are stored, in milliseconds. */
const WRITE_EVERY_MS = 500;

/** Interval of log rotation, in milliseconds. */
const ROTATE_EVERY_MS = 5_000;

const size: ClusterSize = JSON.parse(process.argv[2] ?? '');
const { folder } = size;

// All started processes end with this process, so exiting is enough.
const giveUp = (): void => process.exit(1);
process.on('disconnect', giveUp);
process.on('SIGINT', giveUp).on('SIGTERM', giveUp);

try {
  await claim();
  await writeCluster(folder, { size, isReady: false, restarts: {} });
  const cluster = await openLocalCluster({ ...size, print });
  process.off('disconnect', giveUp).off('SIGINT', giveUp).off('SIGTERM', giveUp);
  const stopping = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  await writeCluster(folder, { size, isReady: true, restarts: {} });
  send({ kind: 'ready' });
  every(systemClock, ROTATE_EVERY_MS, rotate);
  await Promise.race([stopping, keepCounting(cluster)]);
  log('ending everything');
  await cluster[Symbol.asyncDispose]();
  process.exit(0);
} catch (error) {
  const { message } = error as Error;
  log(message);
  send({ kind: 'failed', reason: message }, giveUp);
}

async function claim(): Promise<void> {
  const own = supervisorFolder(folder);
  await mkdir(own, { recursive: true });
  const { pid } = process;
  const isOurs = await claimFolder(own, {
    name: 'supervisor',
    pid,
    birth: birthOf(pid) ?? '',
    startedAt: new Date().toISOString(),
    address: '',
    logFile: '',
  });
  if (!isOurs)
    throw new Error(`a cluster runs on ${folder} already, as ${runningServer(own)?.pid}`);
}

/** Stores restart counts for other processes; never resolves. */
async function keepCounting(cluster: LocalCluster): Promise<never> {
  for (let written = ''; ; ) {
    const restarts = cluster.restarts;
    const text = JSON.stringify(restarts);
    if (text !== written && (await isCounted(restarts))) written = text;
    await sleep(WRITE_EVERY_MS);
  }
}

/** Rotates long logs. A full disk must not end the cluster. */
function rotate(): void {
  try {
    rotateLogs(clusterPlan(size).logFolder);
  } catch (error) {
    log(`long logs cannot be put aside: ${(error as Error).message}`);
  }
}

/**
 * Stores restart counts and returns whether this succeeded. A full disk must not end the cluster.
 */
async function isCounted(restarts: LocalCluster['restarts']): Promise<boolean> {
  try {
    await writeCluster(folder, { size, isReady: true, restarts });
    return true;
  } catch (error) {
    log(`the counts of restarts cannot be written: ${(error as Error).message}`);
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
  // First lost line: report it to the starting terminal instead.
  const reason = STANDARD_OUTPUT.lastError?.message;
  send({ kind: 'line', line: `supervisor.log cannot be written, lines are lost: ${reason}` });
}

function send(message: SupervisorMessage, then: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, then);
  else then();
}
