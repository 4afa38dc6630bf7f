import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { cacheFolder } from '#deploy/local/install/cache-folder';
import type { Job, Outcome } from '#test/runner/job';
import { FILE_MS_MAX, killGroup, runToEnd, type Variables } from '#test/runner/program';
import type { WorkerAnswer, WorkerRequest } from '#test/runner/worker';

/**
 * Maximum resident memory of a worker, in bytes. Memory grows, because modules of earlier files
 * stay loaded. Above this limit, a new worker replaces the worker.
 */
const WORKER_BYTES_MAX = 1_400 * 1_024 * 1_024;

/** Compile cache that all runs of this user share. */
const COMPILED = {
  NODE_COMPILE_CACHE: join(cacheFolder(), 'compiled-tests'),
  NODE_COMPILE_CACHE_PORTABLE: '1',
};

const WORKER = 'test/runner/worker.ts';
const HOOK_ERRORS = './test/runner/hook-errors.ts';

/** Test counts in the last lines that uvu prints for a file in its own process. */
const COUNTS = /Total: +(\d+)\s+Passed: +(\d+)\s+Skipped: +(\d+)/;

/**
 * Runs one file at a time. Most files share a long-lived worker process; `runAlone` starts a
 * process for one file.
 */
export class TestWorker {
  #child: ChildProcess | undefined;
  /** Output that the worker does not capture: from native code and child processes. */
  #stray = '';
  readonly #variables: Variables;

  /** `variables` are environment variables for all processes. */
  constructor(variables: Variables) {
    this.#variables = { ...COMPILED, FORCE_COLOR: '0', ...variables };
  }

  /** Runs a file in the shared process. The file fails if the process ends or does not answer. */
  async run(
    { file, topology }: Job,
    variables: Readonly<Record<string, string>>,
  ): Promise<Outcome> {
    this.#child ??= this.#start();
    const child = this.#child;
    const { promise, resolve } = Promise.withResolvers<WorkerAnswer>();
    const lost = (why: string): void => {
      const text = `${this.#stray}\n${why}\n`;
      resolve({ passed: 0, failed: 1, skipped: 0, text, isSpoiled: true, memoryBytes: 0 });
    };
    const timer = setTimeout(
      () => lost(`killed, because the file was still running after ${FILE_MS_MAX / 1_000} s`),
      FILE_MS_MAX,
    );
    const ended = (code: number | null, signal: NodeJS.Signals | null): void =>
      lost(`the worker process ended with ${code ?? signal}`);
    child.once('message', resolve);
    child.once('exit', ended);
    child.send({ file, topology, variables } satisfies WorkerRequest);
    const { isSpoiled, memoryBytes, ...outcome } = await promise;
    clearTimeout(timer);
    child.off('message', resolve);
    child.off('exit', ended);
    if (isSpoiled) this.#kill();
    else if (memoryBytes > WORKER_BYTES_MAX) await this.stop();
    const text = outcome.failed > 0 ? outcome.text + this.#stray : outcome.text;
    this.#stray = '';
    return { ...outcome, text };
  }

  /** Runs a file in its own process. */
  async runAlone({ file, topology }: Job, variables: Variables): Promise<Outcome> {
    const all = { ...this.#variables, ...variables, TEST_TOPOLOGY: topology };
    const { code, text } = await runToEnd(process.execPath, ['--import', HOOK_ERRORS, file], all);
    return { ...countsIn(text, code), text };
  }

  /** Stops the shared process after its last file. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once('exit', () => resolve());
    child.disconnect();
    await promise;
  }

  #start(): ChildProcess {
    const env = { ...process.env, ...this.#variables };
    const child = fork(WORKER, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    const cut = (): void => killGroup(child.pid);
    process.once('exit', cut);
    child.once('exit', () => process.off('exit', cut));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => (this.#stray += chunk));
    }
    return child;
  }

  #kill(): void {
    killGroup(this.#child?.pid);
    this.#child = undefined;
  }
}

/** Parses the test counts. Adds a failure if there are no tests, or if only the process failed. */
function countsIn(text: string, code: number | null): Omit<Outcome, 'text'> {
  const [, total, passed, skipped] = COUNTS.exec(text)?.map(Number) ?? [];
  if (total === undefined || passed === undefined || skipped === undefined) {
    return { passed: 0, failed: 1, skipped: 0 };
  }
  // The total of uvu does not include skipped tests.
  const failed = total - passed;
  const hasOtherFailure = total + skipped === 0 || (code !== 0 && failed === 0);
  return { passed, failed: hasOtherFailure ? failed + 1 : failed, skipped };
}
