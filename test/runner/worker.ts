import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { Topology } from '#test/runner/job';
import '#test/runner/hook-errors';
import { keptEnvironment } from '#test/support/kept-environment';

/*
 * A long-lived process that runs test files one at a time, on request of its parent. Files share
 * imported modules, so that each module is loaded once per process.
 *
 * With `UVU_DEFER`, uvu queues suites instead of running them. After each file, the worker restores
 * the environment and the working directory. A file fails if it leaves timers, sockets, servers or
 * processes open, or after an uncaught error. The worker is then spoiled, and the parent replaces
 * the worker, so that the next file is not affected.
 */

/** Request of the parent: a test file and its environment variables. */
export type WorkerRequest = {
  readonly file: string;
  readonly topology: Topology;
  readonly variables: Readonly<Record<string, string>>;
};

/** Answer of the worker. */
export type WorkerAnswer = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly text: string;
  /** Whether the worker must not run another file. */
  readonly isSpoiled: boolean;
  /** Resident memory of the worker, in bytes. */
  readonly memoryBytes: number;
};

/** Result of a queued suite: errors or `true`, then the counts of passed, skipped and all tests. */
type SuiteResult = readonly [string | true, number, number, number];

/** Maximum time in ms for sockets and timers to close after the last test of a file. */
const CLOSE_MS_MAX = 30_000;

/** Polling interval for open resources, in milliseconds. */
const CLOSE_POLL_MS = 10;

const queue: (() => Promise<SuiteResult>)[] = [];
Object.assign(globalThis, { UVU_DEFER: true, UVU_QUEUE: [queue] });

const output: string[] = [];
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (text: unknown, ...more: unknown[]) => {
    output.push(String(text));
    for (const part of more) if (typeof part === 'function') part();
    return true;
  };
}

/**
 * Time limit of a property in milliseconds, including shrinking. Without this limit, a file could
 * be killed during shrinking before it reports the failed property.
 */
const PROPERTY_MS_MAX = 120_000;

fc.configureGlobal({ interruptAfterTimeLimit: PROPERTY_MS_MAX, markInterruptAsFailure: true });

let running = 'no file';
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    output.push(`\n${event} in ${running}: ${inspect(error)}\n`);
    answer({ passed: 0, failed: 1, skipped: 0 }, true);
    // The answer must be sent before the process exits.
    setImmediate(() => process.exit(1));
  });
}

process.on('disconnect', () => process.exit(0));
process.on('message', (request: WorkerRequest) => void runFile(request));

async function runFile({ file, topology, variables }: WorkerRequest): Promise<void> {
  const environment = keptEnvironment();
  const folder = process.cwd();
  const open = openResources();
  running = file;
  Object.assign(process.env, variables, { TEST_TOPOLOGY: topology });
  const counts = await runSuites(file, topology);
  const left = await leftOpen(open);
  environment[Symbol.dispose]();
  process.chdir(folder);
  process.exitCode = 0;
  if (left.length > 0) {
    output.push(`\n${file} did not close ${left.join(', ')}\n`);
    counts.failed += 1;
  }
  answer(counts, left.length > 0);
}

async function runSuites(file: string, topology: Topology) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  try {
    // For another topology the file is evaluated again, but shares its imported modules.
    const query = topology === 'memory' ? '' : `?${topology}`;
    await import(`${pathToFileURL(file).href}${query}`);
    for (let run = queue.shift(); run !== undefined; run = queue.shift()) {
      const [errors, passed, skipped, total] = await run();
      counts.passed += passed;
      counts.failed += total - passed;
      counts.skipped += skipped;
      if (errors !== true) output.push(`\n${errors}\n`);
    }
  } catch (error) {
    output.push(`\n${file} failed outside of its tests: ${inspect(error)}\n`);
    queue.length = 0;
    counts.failed += 1;
  }
  const { passed, failed, skipped } = counts;
  if (passed + failed + skipped === 0) {
    output.push(`\n${file} has no tests\n`);
    counts.failed = 1;
  }
  return counts;
}

function answer(
  counts: Pick<WorkerAnswer, 'passed' | 'failed' | 'skipped'>,
  isSpoiled: boolean,
): void {
  const text = output.splice(0).join('');
  const memoryBytes = process.memoryUsage.rss();
  process.send?.({ ...counts, text, isSpoiled, memoryBytes } satisfies WorkerAnswer);
}

/** Counts of resources that keep the event loop alive, by kind. */
function openResources(): Map<string, number> {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  return new Map([...kinds].map(([kind, all]) => [kind, all.length]));
}

/** Resources opened since `before` that did not close in time. */
async function leftOpen(before: ReadonlyMap<string, number>): Promise<string[]> {
  const extra = (): string[] =>
    [...openResources()].flatMap(([kind, count]) => {
      const more = count - (before.get(kind) ?? 0);
      return more > 0 ? [`${more} ${kind}`] : [];
    });
  const untilMs = performance.now() + CLOSE_MS_MAX;
  let left = extra();
  while (left.length > 0 && performance.now() < untilMs) {
    // The timer of this pause has ended at the next poll, and therefore does not count.
    await sleep(CLOSE_POLL_MS);
    left = extra();
  }
  return left;
}
