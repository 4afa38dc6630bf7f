import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { Topology } from '#test/runner/job';
import '#test/runner/hook-errors';
import { keptEnvironment } from '#test/support/kept-environment';

/*
 * A long-lived process that runs one test file after the other, as the parent asks by messages. Files
 * share what they import, so each is compiled and loaded once in a process.
 *
 * uvu queues suites here instead of running them (`UVU_DEFER`). After each file the worker restores
 * the environment and the working directory, and fails a file that left timers, sockets, servers or
 * processes open. Such a file spoils its worker: the parent ends it, so that nothing goes on beside the
 * next file. An error that no test caught fails the file and spoils the worker too.
 */

/** Request of the parent: one file, and the variables that it finds in its environment. */
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

/** Result of a suite in uvu's queue: errors as text or `true`, tests passed, skipped and in all. */
type SuiteResult = readonly [string | true, number, number, number];

/** Time for sockets and timers to close after the last test of a file, in milliseconds: drivers need some. */
const CLOSE_MS_MAX = 30_000;

/** Pause between two looks at what is open, in milliseconds. */
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
 * Time of one property with the search for a small counterexample, in milliseconds. Without a limit the
 * search may go on until the file is ended, and nobody sees which property failed.
 */
const PROPERTY_MS_MAX = 120_000;

fc.configureGlobal({ interruptAfterTimeLimit: PROPERTY_MS_MAX, markInterruptAsFailure: true });

let running = 'no file';
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    output.push(`\n${event} in ${running}: ${inspect(error)}\n`);
    answer({ passed: 0, failed: 1, skipped: 0 }, true);
    // The answer leaves before the process does.
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
    // A second topology evaluates the file again; modules that it imports are shared.
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

/** How many resources of each kind keep the event loop alive. */
function openResources(): Map<string, number> {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  return new Map([...kinds].map(([kind, all]) => [kind, all.length]));
}

/** Kinds of resources that are still open beside `before`, once there was time to close them. */
async function leftOpen(before: ReadonlyMap<string, number>): Promise<string[]> {
  const extra = (): string[] =>
    [...openResources()].flatMap(([kind, count]) => {
      const more = count - (before.get(kind) ?? 0);
      return more > 0 ? [`${more} ${kind}`] : [];
    });
  const untilMs = performance.now() + CLOSE_MS_MAX;
  let left = extra();
  while (left.length > 0 && performance.now() < untilMs) {
    // The timer of this pause has ended before the next look, so it does not count.
    await sleep(CLOSE_LOOK_MS);
    left = extra();
  }
  return left;
}
