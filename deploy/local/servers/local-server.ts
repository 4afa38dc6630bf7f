import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rotateLog } from '#deploy/local/processes/log-rotation';
import { birthOf } from '#deploy/local/processes/process-birth';
import {
  endProcess,
  recordServer,
  runningServer,
  type ServerRecord,
  signalProcess,
} from '#deploy/local/servers/server-record';

/** Folders and lifetime of a server. */
export type ServerPlace = {
  /** Folder for the state, kept between runs; one server at a time. */
  readonly folder: string;
  /** Folder for the log `<name>.log`, which is appended to. */
  readonly logFolder: string;
  /**
   * `caller` (default): the server ends with this process at the latest. `own`: the server outlives
   * this process.
   */
  readonly lifetime?: 'caller' | 'own';
};

/** Program of a server, with its readiness check. */
export type ServerCommand = {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The whole environment. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly address: string;
  readonly readyMsMax: number;
  /** Readiness check: resolves if the server answers; otherwise rejects within seconds. */
  readonly ask: () => Promise<unknown>;
};

/** A running server. Disposal stops the server cleanly if its lifetime is `caller`. */
export type LocalServer = AsyncDisposable & {
  readonly pid: number;
  /** Address for clients: `host:port`, or `nats://host:port`. */
  readonly address: string;
  readonly logFile: string;
  /** Resolves to exit code or signal when the process has ended. */
  readonly ended: Promise<number | string>;
  /** Stops the server cleanly, with either lifetime, and waits for its end. */
  stop(): Promise<void>;
  /** Sends a signal, such as SIGKILL or SIGSTOP, without waiting. */
  signal(signal: NodeJS.Signals): void;
};

/** Minimum interval between readiness checks, in ms. */
const POLL_INTERVAL_MS = 50;
/** Maximum interval between readiness checks, in ms. */
const POLL_INTERVAL_MS_MAX = 500;
/** Interval as a share of the time since the start: frequent checks would load a slow machine. */
const INTERVAL_SHARE = 0.05;

/** Number of log lines in the error of a failed start, without stack frames. */
const LOG_LINES_SHOWN = 5;
const STACK_FRAME = /^\s+(at |\.\.\.)/;

const endingWithCaller = new Set<ServerRecord>();
process.once('exit', () => {
  for (const record of endingWithCaller) signalProcess(record, 'SIGKILL');
});

/**
 * Starts a server in its folder; resolves when the server answers. If the server ends or takes too
 * long, throws with the end of the log. Throws immediately if a server already runs in the folder.
 */
export async function startServer(
  { folder, logFolder, lifetime = 'caller' }: ServerPlace,
  command: ServerCommand,
): Promise<LocalServer> {
  const { name, address } = command;
  const other = runningServer(folder);
  if (other !== undefined)
    throw new Error(`${name} already runs in ${folder}, as process ${other.pid}`);
  await Promise.all([folder, logFolder].map((path) => mkdir(path, { recursive: true })));
  const logFile = join(logFolder, `${name}.log`);
  const child = spawnInto(logFile, command);
  const record = await recordOf(child, { name, address, logFile });
  if (lifetime === 'caller') endingWithCaller.add(record);
  const ended = once(child, 'exit').then(([code, signal]): number | string => {
    endingWithCaller.delete(record);
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

/** Starts the program in its own process group, which Ctrl-C does not reach. */
function spawnInto(logFile: string, { program, args, env }: ServerCommand): ChildProcess {
  rotateLog(logFile);
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
    await sleep(
      Math.min(POLL_INTERVAL_MS_MAX, Math.max(POLL_INTERVAL_MS, tookMs * INTERVAL_SHARE)),
    );
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
