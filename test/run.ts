import { spawn, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/*
 * Runs the static checks as one test, then every test file in a process of its own, and counts what
 * really ran. Files under `test/api`
 * run twice: against standalone and against edge, engine and limiter as three processes. Ends with
 * `N passed, N failed` (`, N skipped`). Usage: node test/run.ts [part of a path …]
 */

type Job = { readonly file: string; readonly topology: 'standalone' | 'processes' };
type Outcome = Job & { passed: number; failed: number; skipped: number; text: string };

/** A file that hangs is a failure. Milliseconds. */
const FILE_MS_MAX = 240_000;

const COUNTS = /Total: +(\d+)\s+Passed: +(\d+)\s+Skipped: +(\d+)/;

const wanted = process.argv.slice(2);
const files = globSync('test/**/*.test.ts')
  .sort()
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
const jobs: Job[] = files.flatMap((file) =>
  file.startsWith('test/api/')
    ? [
        { file, topology: 'standalone' },
        { file, topology: 'processes' },
      ]
    : [{ file, topology: 'standalone' }],
);

const checked = wanted.length === 0 ? [runChecks()] : [];
const outcomes = [...checked, ...(await runAll(jobs, Math.max(2, availableParallelism())))];
const sum = (count: (outcome: Outcome) => number) =>
  outcomes.reduce((total, outcome) => total + count(outcome), 0);
const skipped = sum((outcome) => outcome.skipped);
for (const { file, skipped: count, text } of outcomes.filter((outcome) => outcome.skipped > 0)) {
  console.log(`skipped: ${count} in ${file}: ${/^skipped because (.*)$/m.exec(text)?.[1] ?? '?'}`);
}
const failed = sum((outcome) => outcome.failed) + (jobs.length === 0 ? 1 : 0);
console.log(
  `${sum((outcome) => outcome.passed)} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
);
process.exitCode = failed > 0 ? 1 : 0;

/** Lint, types, unused code and generated files, as `make check` does. */
function runChecks(): Outcome {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'check'], {
    encoding: 'utf8',
  });
  const passed = status === 0 ? 1 : 0;
  const counts = { passed, failed: 1 - passed, skipped: 0, text: stdout + stderr };
  const outcome: Outcome = { file: 'make check', topology: 'standalone', ...counts };
  report(outcome, performance.now() / 1_000);
  return outcome;
}

async function runAll(queue: readonly Job[], atOnce: number): Promise<Outcome[]> {
  const waiting = [...queue];
  const done: Outcome[] = [];
  const worker = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const startedMs = performance.now();
      const outcome = await runFile(job);
      done.push(outcome);
      report(outcome, (performance.now() - startedMs) / 1_000);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return done;
}

function report({ file, topology, passed, failed, text }: Outcome, seconds: number): void {
  const name = file.startsWith('test/api/') ? `${file} (${topology})` : file;
  const verdict = failed === 0 ? 'ok    ' : 'FAILED';
  console.log(`${verdict} ${name}: ${passed} passed, ${seconds.toFixed(1)} s`);
  if (failed > 0) console.log(text);
}

function runFile(job: Job): Promise<Outcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, TEST_TOPOLOGY: job.topology, FORCE_COLOR: '0' };
    const child = spawn(process.execPath, [job.file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    child.stdout.on('data', (chunk) => (text += chunk));
    child.stderr.on('data', (chunk) => (text += chunk));
    const timer = setTimeout(() => {
      text += `\nstill running after ${FILE_MS_MAX / 1_000} s: ended\n`;
      child.kill('SIGKILL');
    }, FILE_MS_MAX);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ ...job, ...countsIn(text, code), text });
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
