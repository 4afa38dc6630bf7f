import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { putLongLogAside } from '#deploy/local/log-rotation';
import { birthOf } from '#deploy/local/process-birth';
import {
  endProcess,
  recordServer,
  runningServer,
  type ServerRecord,
  signalProcess,
} from '#deploy/local/server-record';

/** Where a server keeps its things, and how long it lives. */
export type ServerPlace = {
  /** Its state, kept between runs; one server at a time. */
  readonly folder: string;
  /** Its log goes here as `<name>.log`, appended to. */
  readonly logFolder: string;
  /** `caller` (default): ends with this process at the latest. `own`: outlives it. */
  readonly lifetime?: 'caller' | 'own';
};

/** The program of a server, and how its caller learns that the server answers. */
export type ServerCommand = {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Its whole environment; this process's own unless given. */
  readonly env?: Readonly<Record<string, string>>;
  readonly address: string;
  readonly readyMsMax: number;
  /** Fulfils when the server really answers; rejects, soon, while it does not. */
  readonly ask: () => Promise<unknown>;
};

/** A running server, until it is disposed: ended in good order if its lifetime is the caller's. */
export type LocalServer = AsyncDisposable & {
  readonly pid: number;
  /** As clients take it: `host:port`, or `nats://host:port`. */
  readonly address: string;
  readonly logFile: string;
  /** Fulfils when the process is gone, with its exit code or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Ends it in good order, whatever its lifetime, and waits until it is gone. */
  stop(): Promise<void>;
  /** Sends it a signal, SIGKILL or SIGSTOP for instance, and waits for nothing. */
  signal(signal: NodeJS.Signals): void;
};

/**
 * How often a starting server is asked, in milliseconds: the longer it takes, the less often, because
 * asking takes time from a slow machine too.
 */
const ASK_EVERY_MS = 50;
const ASK_EVERY_MS_MAX = 500;
const ASKED_PART = 0.05;

/** Lines of the log that explain a failed start; the frames of a stack do not. */
const LOG_LINES_SHOWN = 5;
const STACK_FRAME = /^\s+(at |\.\.\.)/;

const endingWithUs = new Set<ServerRecord>();
process.once('exit', () => {
  for (const record of endingWithUs) signalProcess(record, 'SIGKILL');
});

/**
 * Starts a server on its folder and fulfils when it answers. Throws an error of a few lines, with the
 * end of its log, when it ends before or takes too long, and at once when the folder's server runs.
 */
export async function startServer(
  { folder, logFolder, lifetime = 'caller' }: ServerPlace,
  command: ServerCommand,
): Promise<LocalServer> {
  const { name, address } = command;
  const other = runningServer(folder);
  if (other !== undefined) throw new Error(`${name} runs on ${folder} already, as ${other.pid}`);
  await Promise.all([folder, logFolder].map((path) => mkdir(path, { recursive: true })));
  const logFile = join(logFolder, `${name}.log`);
  const child = spawnInto(logFile, command);
  const record = await recordOf(child, { name, address, logFile });
  if (lifetime === 'caller') endingWithUs.add(record);
  const ended = once(child, 'exit').then(([code, signal]): number | string => {
    endingWithUs.delete(record);
    return code ?? signal;
  });
  await recordServer(folder, record);
  const stop = () => endProcess(record);
  try {
    await untilAnswered(command, ended);
  } catch (error) {
    signalProcess(record, 'SIGKILL');
    throw new Error(`${(error as Error).message}\n${endOf(logFile)}`);
  }
  if (lifetime === 'own') child.unref();
  return {
    pid: record.pid,
    address,
    logFile,
    ended,
    stop,
    signal: (signal) => signalProcess(record, signal),
    [Symbol.asyncDispose]: async () => (lifetime === 'caller' ? stop() : undefined),
  };
}

/** In a process group of its own, so that Ctrl-C reaches it only through us. */
function spawnInto(logFile: string, { program, args, env }: ServerCommand): ChildProcess {
  putLongLogAside(logFile);
  const log = openSync(logFile, 'a');
  try {
    const variables = env === undefined ? {} : { env: { ...env } };
    return spawn(program, [...args], { ...variables, stdio: ['ignore', log, log], detached: true });
  } finally {
    closeSync(log);
  }
}

async function recordOf(
  child: ChildProcess,
  rest: Pick<ServerRecord, 'name' | 'address' | 'logFile'>,
): Promise<ServerRecord> {
  await once(child, 'spawn').catch((error: Error) => {
    throw new Error(`${rest.name} could not be started: ${error.message}`);
  });
  const { pid = 0 } = child;
  return { ...rest, pid, birth: birthOf(pid) ?? '', startedAt: new Date().toISOString() };
}

async function untilAnswered(
  { name, ask, readyMsMax }: ServerCommand,
  ended: Promise<number | string>,
): Promise<void> {
  const over = ended.then((how) => ({ how }));
  const startedMs = performance.now();
  for (let tookMs = 0; tookMs < readyMsMax; tookMs = performance.now() - startedMs) {
    const answered = ask().then(
      () => 'yes' as const,
      () => 'no' as const,
    );
    const result = await Promise.race([answered, over]);
    if (result === 'yes') return;
    if (result !== 'no') throw new Error(`${name} ended while starting, with ${result.how}`);
    await sleep(Math.min(ASK_EVERY_MS_MAX, Math.max(ASK_EVERY_MS, tookMs * ASKED_PART)));
  }
  throw new Error(`${name} did not answer within ${readyMsMax / 1_000} s`);
}

function endOf(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n');
  return lines
    .filter((line) => !STACK_FRAME.test(line))
    .slice(-LOG_LINES_SHOWN)
    .join('\n');
}
