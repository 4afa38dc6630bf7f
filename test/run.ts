import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type Job, type Outcome, runChecks } from '#test/support/file-run';
import { type RunServers, startRunServers } from '#test/support/run-servers';
import { lookAgain } from '#test/support/second-look';
import { WorkerKeyspace } from '#test/support/worker-keyspace';

/*
 * Runs the static checks as one test, then every test file in a process of its own, and counts what
 * really ran. Files under `test/api` run four times: against standalone, against edge, engine and
 * limiter as three processes, and against standalone on Cassandra and in a file. Files that need Cassandra or NATS come last, when those answer; see
 * `test/support/real-servers.ts`. A file that failed beside the others is run once more alone
 * (decision 121).
 * Ends with `N passed, N failed` (`, N skipped`).
 * Usage: node test/run.ts [part of a path …]
 */

// Ending by `exit` is what lets everything that was started here be ended too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const wanted = process.argv.slice(2);
const files = globSync(['test/**/*.test.ts', 'clients/typescript/test/*.test.ts'])
  .sort()
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
const jobs: Job[] = files.flatMap((file) =>
  file.startsWith('test/api/')
    ? [
        { file, topology: 'standalone' },
        { file, topology: 'processes' },
        { file, topology: 'cassandra' },
        { file, topology: 'sqlite' },
      ]
    : [{ file, topology: 'standalone' }],
);

const outcomes = await runEverything();
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

/** The servers start beside the checks. */
async function runEverything(): Promise<Outcome[]> {
  await using servers = startRunServers(jobs);
  const checked = wanted.length === 0 ? [await reported(runChecks)] : [];
  const first = await runAll(servers, jobs, Math.max(2, availableParallelism()));
  const { runs, unsteady } = await lookAgain(first, async (failure) => {
    console.log(`again, alone: ${nameOf(failure)}`);
    const [second] = await runAll(servers, [failure], 1);
    return second ?? failure;
  });
  for (const run of unsteady) console.log(`unsteady: ${nameOf(run)} passed only alone`);
  return [...checked, ...runs];
}

async function runAll(
  servers: RunServers,
  jobs: readonly Job[],
  atOnce: number,
): Promise<Outcome[]> {
  const waiting = jobs.toSorted((left, right) => servers.waitOf(left) - servers.waitOf(right));
  const done: Outcome[] = [];
  const worker = async (_: unknown, number: number): Promise<void> => {
    const keyspace = new WorkerKeyspace(`api_${process.pid}_${number}`);
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const next = job;
      const variables = await servers.variablesFor(next);
      done.push(await reported(() => keyspace.run(next, variables)));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return done;
}

async function reported(run: () => Promise<Outcome>): Promise<Outcome> {
  const startedMs = performance.now();
  const outcome = await run();
  const { passed, failed: failures, text } = outcome;
  const verdict = failures === 0 ? 'ok    ' : 'FAILED';
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(`${verdict} ${nameOf(outcome)}: ${passed} passed, ${seconds.toFixed(1)} s`);
  if (failures > 0) console.log(text);
  return outcome;
}

function nameOf({ file, topology }: Job): string {
  return file.startsWith('test/api/') ? `${file} (${topology})` : file;
}
