import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { Topology } from '#test/runner/job';
import '#test/runner/hook-errors';
import { keptEnvironment } from '#test/support/kept-environment';

/*
 * A long-lived process that runs test files one after the other, as requested by its parent's
 * messages. Files share imports, so each module is compiled and loaded once per process.
 *
 * uvu queues suites here instead of running them (`UVU_DEFER`). After each file the worker restores
 * environment and working directory. A file that left timers, sockets, servers or processes open
 * fails and spoils its worker. The parent ends a spoiled worker, so that leftovers cannot disturb
 * the next file. An uncaught error also fails the file and spoils the worker.
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

/**
 * Result of a suite in uvu's queue: errors as text or `true`, then the numbers of passed, skipped
 * and all tests.
 */
type SuiteResult = readonly [string | true, number, number, number];

/** Maximum time for sockets and timers to close after a file's last test, in milliseconds. */
const CLOSE_MS_MAX = 30_000;

/** Polling interval of open resources, in milliseconds. */
const CLOSE_LOOK_MS = 10;

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
 * Time limit of one property with shrinking, in milliseconds. Without a limit, the file could be
 * killed during shrinking, before it reports the failed property.
 */
const PROPERTY_MS_MAX = 120_000;

fc.configureGlobal({ interruptAfterTimeLimit: PROPERTY_MS_MAX, markInterruptAsFailure: true });

let running = 'no file';
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    output.push(`\n${event} in ${running}: ${inspect(error)}\n`);
    answer({ passed: 0, failed: 1, skipped: 0 }, true);
    // Send the answer before the process exits.
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
    output.push(`\n${file} left open: ${left.join(', ')}\n`);
    counts.failed += 1;
  }
  answer(counts, left.length > 0);
}

async function runSuites(file: string, topology: Topology) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  try {
    // A second topology evaluates the file again; its imported modules are shared.
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
    output.push(`\n${file} cannot be run: ${inspect(error)}\n`);
    queue.length = 0;
    counts.failed += 1;
  }
  const { passed, failed, skipped } = counts;
  if (passed + failed + skipped === 0) {
    output.push(`\n${file} has no test\n`);
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

/** Number of resources of each kind that keep the event loop alive. */
function openResources(): Map<string, number> {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  return new Map([...kinds].map(([kind, all]) => [kind, all.length]));
}

/** Kinds of resources opened since `before` that did not close in time. */
async function leftOpen(before: ReadonlyMap<string, number>): Promise<string[]> {
  const extra = (): string[] =>
    [...openResources()].flatMap(([kind, count]) => {
      const more = count - (before.get(kind) ?? 0);
      return more > 0 ? [`${more} ${kind}`] : [];
    });
  const untilMs = performance.now() + CLOSE_MS_MAX;
  let left = extra();
  while (left.length > 0 && performance.now() < untilMs) {
    // The timer of this pause is over at the next look, so it does not count.
    await sleep(CLOSE_LOOK_MS);
    left = extra();
  }
  return left;
}
