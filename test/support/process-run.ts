import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { adminTokenFile } from '#test/support/calls/admin-token';

/** A process of the service, which may end before it is ready. */
export type ProcessRun = {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  /** Standard error without the routine log lines `starting` and `ready`. */
  readonly stderr: () => string;
  /** All parsed log lines, without plain text. */
  readonly log: () => LogLine[];
  /** Resolves to the exit code or ending signal after all output was read. */
  readonly ended: Promise<number | string>;
  /** Resolves when the output of either stream matches; rejects if the process ends first. */
  readonly says: (pattern: RegExp) => Promise<void>;
};

/** A log line. */
type LogLine = { readonly level: string; readonly msg: string } & Record<string, unknown>;

/** A log line during a normal start. */
const ROUTINE_LINE = /^\{"level":"info",[^\n]*"msg":"(?:starting|ready)"\}\n/gm;

function logLinesIn(text: string): LogLine[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogLine);
}

/** Default maximum process lifetime, in milliseconds. */
const RUN_MS_MAX = 60_000;

/** Environment for a process under test: free ports and no drain. */
export function testVariables(folder = '.'): Record<string, string | undefined> {
  return {
    PATH: process.env['PATH'],
    NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'],
    NODE_DISABLE_COMPILE_CACHE: process.env['NODE_DISABLE_COMPILE_CACHE'],
    SERVICE_PORT: '0',
    SERVICE_METRICS_PORT: '0',
    SERVICE_ADMIN_PORT: '0',
    // An earlier release in another checkout has no console.
    SERVICE_CONSOLE_PORT: folder === '.' ? '0' : undefined,
    SERVICE_ADMIN_TOKEN_FILE: adminTokenFile(),
    SERVICE_DRAIN_SECONDS: '0',
  };
}

/** Runs `main.ts` with these arguments, by default on free ports and in this checkout. */
export function runMain(
  argv: readonly string[],
  variables: Record<string, string | undefined> = {},
  msMax = RUN_MS_MAX,
  folder = '.',
): ProcessRun {
  return runScript('services/main.ts', argv, variables, msMax, folder);
}

/** Runs a program in the same way as `runMain`. */
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
        // Remove the listener on the other stream after each turn.
        const turn = new AbortController();
        const more = [child.stdout, child.stderr].map(async (stream) => {
          await once(stream, 'data', { signal: turn.signal }).catch(() => undefined);
        });
        const over = ended.then(() => 'over' as const);
        const first = await Promise.race([...more, over]);
        turn.abort();
        if (first !== 'over') continue;
        if (pattern.test(all())) return;
        throw new Error(`the process ended, and no output matches ${pattern}: ${all()}`);
      }
    },
  };
}

/** An address in a process's ready line: `grpc`, `metrics`, `admin` or `api`. */
export function addressIn(run: ProcessRun, name: string): string {
  const found = new RegExp(`\\b${name} ([^,\\s]+)`).exec(run.stdout())?.[1];
  if (found === undefined) throw new Error(`no ${name} address in ${run.stdout()}`);
  return found;
}
