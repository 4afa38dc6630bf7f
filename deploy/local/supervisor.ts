import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClusterSize, clusterPlan } from '#deploy/local/cluster-plan';
import { supervisorFolder, writeCluster } from '#deploy/local/cluster-record';
import { type LocalCluster, openLocalCluster } from '#deploy/local/local-cluster';
import { rotateLogs } from '#deploy/local/log-rotation';
import { birthOf } from '#deploy/local/process-birth';
import { claimFolder, runningServer } from '#deploy/local/server-record';
import { every, systemClock } from '#platform/clock';
import { STANDARD_OUTPUT } from '#platform/logger';

/*
 * The process that owns a local cluster and keeps every process of it running, as an orchestrator
 * would. It outlives the process that started it; until the cluster is ready it reports how far it
 * is, and gives up when that one goes. SIGTERM ends everything in good order.
 * Usage: node deploy/local/supervisor.ts CLUSTER_SIZE_AS_JSON (with an IPC channel)
 */

/** What a supervisor reports to the process that started it. */
export type SupervisorMessage =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: string };

/** How often the counts of restarts are written down, in milliseconds. */
const WRITE_EVERY_MS = 500;

/** How often long logs are looked for, in milliseconds. Chosen. */
const ROTATE_EVERY_MS = 5_000;

const size: ClusterSize = JSON.parse(process.argv[2] ?? '');
const { folder } = size;

// Whatever this process has started ends with it, so giving up is just ending.
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

/** Never fulfils: other processes read the counts from the folder. */
async function keepCounting(cluster: LocalCluster): Promise<never> {
  for (let written = ''; ; ) {
    const restarts = cluster.restarts;
    const text = JSON.stringify(restarts);
    if (text !== written && (await isCounted(restarts))) written = text;
    await sleep(WRITE_EVERY_MS);
  }
}

/** Puts long logs aside; a full disk must not end the cluster. */
function rotate(): void {
  try {
    rotateLogs(clusterPlan(size).logFolder);
  } catch (error) {
    log(`long logs cannot be put aside: ${(error as Error).message}`);
  }
}

/** Whether the counts are written down; a full disk must not end the cluster. */
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
  // The first line that is lost: print it to the terminal of the start instead.
  const reason = STANDARD_OUTPUT.lastError?.message;
  send({ kind: 'line', line: `supervisor.log cannot be written, lines are lost: ${reason}` });
}

function send(message: SupervisorMessage, then: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, then);
  else then();
}
