import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { birthOf } from '#deploy/local/processes/process-birth';

/** Record of the server that runs in a folder, stored in that folder. */
export type ServerRecord = {
  readonly name: string;
  readonly pid: number;
  /** Distinguishes this process from a later process with the same id; see `birthOf`. */
  readonly birth: string;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** Address for clients: `host:port`, or `nats://host:port`. */
  readonly address: string;
  readonly logFile: string;
};

/** Maximum time of a clean stop before a kill, in ms: the service's 25 s and a margin. */
const STOP_MS_MAX = 30_000;
const POLL_INTERVAL_MS = 50;

/**
 * Record of the server that runs in a folder, whichever process started the server; undefined if no
 * server runs.
 */
export function runningServer(folder: string): ServerRecord | undefined {
  try {
    const record: ServerRecord = JSON.parse(readFileSync(fileIn(folder), 'utf8'));
    return isRunning(record) ? record : undefined;
  } catch {
    return undefined; // A missing or incomplete record: no server is ready.
  }
}

/** Stores the record of a folder's server. */
export async function recordServer(folder: string, record: ServerRecord): Promise<void> {
  await writeFile(fileIn(folder), `${JSON.stringify(record, undefined, 2)}\n`);
}

/**
 * Stores the record unless a server runs in the folder. Returns whether the record was stored:
 * exactly one of several concurrent calls succeeds.
 */
export async function claimFolder(folder: string, record: ServerRecord): Promise<boolean> {
  const own = `${fileIn(folder)}.${randomUUID()}`;
  await writeFile(own, `${JSON.stringify(record, undefined, 2)}\n`);
  try {
    // Synchronous: no claim of this process can come between check and removal of the old record.
    if (runningServer(folder) !== undefined) return false;
    rmSync(fileIn(folder), { force: true });
    // `link` is atomic and never replaces a file.
    linkSync(own, fileIn(folder));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

/** Stops a folder's running server cleanly and keeps its state. */
export async function stopRecordedServer(folder: string): Promise<void> {
  const record = runningServer(folder);
  if (record !== undefined) await endProcess(record);
  await rm(fileIn(folder), { force: true });
}

/**
 * Stops a process with SIGTERM, and after `msMax` ms with SIGKILL. Resolves when the process has
 * ended.
 */
export async function endProcess(
  who: Pick<ServerRecord, 'pid' | 'birth'>,
  msMax = STOP_MS_MAX,
): Promise<void> {
  // A paused process handles SIGTERM only after SIGCONT.
  for (const signal of ['SIGTERM', 'SIGCONT'] as const) signalProcess(who, signal);
  const deadlineMs = performance.now() + msMax;
  while (isRunning(who)) {
    if (performance.now() > deadlineMs) signalProcess(who, 'SIGKILL');
    await sleep(POLL_INTERVAL_MS);
  }
}

/** Sends a signal to exactly this process; does nothing if the process has ended. */
export function signalProcess(
  who: Pick<ServerRecord, 'pid' | 'birth'>,
  signal: NodeJS.Signals,
): void {
  if (!isRunning(who)) return;
  try {
    process.kill(who.pid, signal);
  } catch {
    // The process ended meanwhile.
  }
}

function isRunning({ pid, birth }: Pick<ServerRecord, 'pid' | 'birth'>): boolean {
  return birthOf(pid) === birth;
}

function fileIn(folder: string): string {
  return join(folder, 'server.json');
}
