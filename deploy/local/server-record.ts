import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { birthOf } from '#deploy/local/process-birth';

/** A server that runs on a folder, as the folder itself remembers it. */
export type ServerRecord = {
  readonly name: string;
  readonly pid: number;
  /** Distinguishes this process from a later one with the same id. */
  readonly birth: string;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** As clients take it: `host:port`, or `nats://host:port`. */
  readonly address: string;
  readonly logFile: string;
};

/** How long a process may end in good order before it is killed: the service's own 25 s, and some. Ms. */
const STOP_MS_MAX = 30_000;
const ASK_EVERY_MS = 50;

/** The server that runs on this folder now, whichever process started it. */
export function runningServer(folder: string): ServerRecord | undefined {
  try {
    const record: ServerRecord = JSON.parse(readFileSync(fileIn(folder), 'utf8'));
    return isRunning(record) ? record : undefined;
  } catch {
    return undefined; // No record, or one that was cut off while being written: no server is ready.
  }
}

/** Remembers who runs on this folder. */
export async function recordServer(folder: string, record: ServerRecord): Promise<void> {
  await writeFile(fileIn(folder), `${JSON.stringify(record, undefined, 2)}\n`);
}

/**
 * Remembers who runs on this folder unless a server does: false then. Of two that try at once, one
 * wins.
 */
export async function claimFolder(folder: string, record: ServerRecord): Promise<boolean> {
  const own = `${fileIn(folder)}.${randomUUID()}`;
  await writeFile(own, `${JSON.stringify(record, undefined, 2)}\n`);
  try {
    // Without a pause, so that no claim falls between a look at the old one and its removal.
    if (runningServer(folder) !== undefined) return false;
    rmSync(fileIn(folder), { force: true });
    // A link appears whole or not at all, and never over another.
    linkSync(own, fileIn(folder));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

/** Ends the server that runs on this folder, if one does, in good order; its state stays. */
export async function stopRecordedServer(folder: string): Promise<void> {
  const record = runningServer(folder);
  if (record !== undefined) await endProcess(record);
  await rm(fileIn(folder), { force: true });
}

/** Ends a process by its id: asks, and after a time (30 s) kills. Returns when it is gone. */
export async function endProcess(
  who: Pick<ServerRecord, 'pid' | 'birth'>,
  msMax = STOP_MS_MAX,
): Promise<void> {
  // A process that is stopped hears SIGTERM only when it goes on.
  for (const signal of ['SIGTERM', 'SIGCONT'] as const) signalProcess(who, signal);
  const deadlineMs = performance.now() + msMax;
  while (isRunning(who)) {
    if (performance.now() > deadlineMs) signalProcess(who, 'SIGKILL');
    await sleep(ASK_EVERY_MS);
  }
}

/** Sends a signal to exactly this process; one that is gone hears nothing. */
export function signalProcess(
  who: Pick<ServerRecord, 'pid' | 'birth'>,
  signal: NodeJS.Signals,
): void {
  if (!isRunning(who)) return;
  try {
    process.kill(who.pid, signal);
  } catch {
    // It ended in between.
  }
}

function isRunning({ pid, birth }: Pick<ServerRecord, 'pid' | 'birth'>): boolean {
  return birthOf(pid) === birth;
}

function fileIn(folder: string): string {
  return join(folder, 'server.json');
}
