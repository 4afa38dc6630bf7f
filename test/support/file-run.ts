import { spawn } from 'node:child_process';
import { resolve as absolute } from 'node:path';

/** A test file and the topology that it is run against. */
export type Job = {
  readonly file: string;
  readonly topology: 'standalone' | 'processes' | 'cassandra' | 'sqlite';
};

/** What came of a job: counts of tests, and everything that it wrote. */
export type Outcome = Job & {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly text: string;
};

/** A file that hangs is a failure. Milliseconds. */
const FILE_MS_MAX = 240_000;

/** What Node compiles of hundreds of files, most of which import the same, is compiled once. */
const CODE = absolute('.cache/code');

const COUNTS = /Total: +(\d+)\s+Passed: +(\d+)\s+Skipped: +(\d+)/;

/** Runs a test file in a process of its own. */
export async function runFile(
  job: Job,
  variables: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const settings = { NODE_COMPILE_CACHE: CODE, FORCE_COLOR: '0' };
  const env = { ...variables, ...settings, TEST_TOPOLOGY: job.topology };
  const { code, text } = await runToEnd(process.execPath, [job.file], env);
  return { ...job, ...countsIn(text, code), text };
}

/** The outcome of a job whose server cannot be had: skipped, and on CI, where nothing may be, failed. */
export function withoutServer(job: Job, reason: string): Outcome {
  const isAllowed = process.env['CI'] !== 'true';
  const counts = { passed: 0, failed: isAllowed ? 0 : 1, skipped: isAllowed ? 1 : 0 };
  return { ...job, ...counts, text: `skipped because there is no Cassandra: ${reason}` };
}

/** Lint, types, unused code and generated files, as `make check` does: one test. */
export async function runChecks(): Promise<Outcome> {
  const { code, text } = await runToEnd('npm', ['run', '--silent', 'check']);
  const passed = code === 0 ? 1 : 0;
  const counts = { passed, failed: 1 - passed, skipped: 0, text };
  return { file: 'make check', topology: 'standalone', ...counts };
}

/** Runs a program with further variables and gives all of its output. */
export function runToEnd(
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>> = {},
): Promise<{ readonly code: number | null; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...variables };
    const child = spawn(program, [...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    child.stdout.on('data', (chunk) => (text += chunk));
    child.stderr.on('data', (chunk) => (text += chunk));
    const cut = (): void => void child.kill('SIGKILL');
    process.once('exit', cut);
    const timer = setTimeout(() => {
      text += `\nstill running after ${FILE_MS_MAX / 1_000} s: ended\n`;
      cut();
    }, FILE_MS_MAX);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      process.off('exit', cut);
      resolve({ code, text });
    });
  });
}

/** A file counts as failed too when it ran nothing or ended badly after its tests. */
function countsIn(text: string, code: number | null) {
  const [, total, passed, skipped] = COUNTS.exec(text)?.map(Number) ?? [];
  if (total === undefined || passed === undefined || skipped === undefined) {
    return { passed: 0, failed: 1, skipped: 0 };
  }
  // uvu leaves what it skipped out of its total.
  const failed = total - passed;
  const isSilent = total + skipped === 0 || (code !== 0 && failed === 0);
  return { passed, failed: isSilent ? failed + 1 : failed, skipped };
}
