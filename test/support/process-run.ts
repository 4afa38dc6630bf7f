import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { adminTokenFile } from '#test/support/admin-token';

/** A process of the service that need not become ready. */
export type ProcessRun = {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  /** Standard error without the log lines `starting` and `ready`, which every process writes. */
  readonly stderr: () => string;
  /** All log lines, parsed; lines of text are left out. */
  readonly log: () => LogLine[];
  /** Fulfils with the exit code, or the signal that ended it, when all output is read. */
  readonly ended: Promise<number | string>;
  /** Fulfils when the output of either stream matches; rejects when the process ends before. */
  readonly says: (pattern: RegExp) => Promise<void>;
};

/** A line of the log. */
type LogLine = { readonly level: string; readonly msg: string } & Record<string, unknown>;

/** A line about an orderly start. */
const ROUTINE_LINE = /^\{"level":"info",[^\n]*"msg":"(?:starting|ready)"\}\n/gm;

function logLinesIn(text: string): LogLine[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogLine);
}

/** No process of a test may live longer unless the test says so, in milliseconds. */
const RUN_MS_MAX = 60_000;

/** The environment of a process under test: free ports, and callers that keep their connections. */
export function testVariables(folder = '.'): Record<string, string | undefined> {
  return {
    PATH: process.env['PATH'],
    NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'],
    NODE_DISABLE_COMPILE_CACHE: process.env['NODE_DISABLE_COMPILE_CACHE'],
    SERVICE_PORT: '0',
    SERVICE_METRICS_PORT: '0',
    SERVICE_ADMIN_PORT: '0',
    // An earlier release, in another checkout, knows of no console.
    SERVICE_CONSOLE_PORT: folder === '.' ? '0' : undefined,
    SERVICE_ADMIN_TOKEN_FILE: adminTokenFile(),
    SERVICE_DRAIN_SECONDS: '0',
  };
}

/**
 * Runs `main.ts` with these arguments, on free ports unless the variables say otherwise; that of
 * another checkout if its folder is named.
 */
export function runMain(
  argv: readonly string[],
  variables: Record<string, string | undefined> = {},
  msMax = RUN_MS_MAX,
  folder = '.',
): ProcessRun {
  return runScript('services/main.ts', argv, variables, msMax, folder);
}

/** Runs a program as `runMain` runs that one. */
export function runScript(
  path: string,
  argv: readonly string[],
  variables: Record<string, string | undefined> = {},
  msMax = RUN_MS_MAX,
  folder = '.',
): ProcessRun {
  const env = {
    ...testVariables(folder),
    SERVICE_ENGINE_LISTEN: '127.0.0.1:0',
    SERVICE_LIMITER_LISTEN: '127.0.0.1:0',
    ...variables,
  };
  const child = spawn(process.execPath, [path, ...argv], { env, cwd: folder });
  const out: string[] = [];
  const err: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk.toString()));
  const cut = () => void child.kill('SIGKILL');
  const timer = setTimeout(cut, msMax);
  process.once('exit', cut);
  const ended = once(child, 'close').then(([code, signal]) => {
    clearTimeout(timer);
    process.off('exit', cut);
    return code ?? signal;
  });
  const stderr = () => err.join('').replaceAll(ROUTINE_LINE, '');
  const all = () => out.join('') + stderr();
  return {
    child,
    stdout: () => out.join(''),
    stderr,
    log: () => logLinesIn(err.join('')),
    ended,
    async says(pattern) {
      while (!pattern.test(all())) {
        // The stream that says nothing keeps no listener of each turn.
        const turn = new AbortController();
        const more = [child.stdout, child.stderr].map(async (stream) => {
          await once(stream, 'data', { signal: turn.signal }).catch(() => undefined);
        });
        const over = ended.then(() => 'over' as const);
        const first = await Promise.race([...more, over]);
        turn.abort();
        if (first !== 'over') continue;
        if (pattern.test(all())) return;
        throw new Error(`ended without saying ${pattern}: ${all()}`);
      }
    },
  };
}

/**
 * An address in the line that says that a process is ready: `grpc`, `metrics`, `admin` or `api`.
 */
export function addressIn(run: ProcessRun, name: string): string {
  const found = new RegExp(`\\b${name} ([^,\\s]+)`).exec(run.stdout())?.[1];
  if (found === undefined) throw new Error(`no ${name} address in ${run.stdout()}`);
  return found;
}
