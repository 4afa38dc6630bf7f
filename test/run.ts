import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { isNamed, type Job, jobsOf, nameOf, type Outcome, testFiles } from '#test/runner/job';
import { MAY_SKIP } from '#test/runner/plan';
import { runToEnd } from '#test/runner/program';
import { type Finished, RunReport, type Task } from '#test/runner/report';
import { lookAgain } from '#test/runner/second-look';
import { type RunServers, startRunServers } from '#test/runner/servers';
import { TestWorker } from '#test/runner/test-worker';

/*
 * Runs the tests: `make test` without arguments, `make test-all` with `--all`. The file
 * `test/runner/plan.ts` assigns the test files. Arguments select the test files of all parts whose
 * path contains an argument. With arguments, no programs run. The last line is `N passed, N failed`
 * (`, N skipped`). Usage: node test/run.ts [--all] [part of a path …]
 */

/** A command that is counted as one test. */
type Program = Task & { readonly command: readonly string[] };

const CHECKS: Program = {
  ...{ name: 'make check', file: 'package.json', part: 'test' },
  command: ['npm', 'run', '--silent', 'check'],
};
const KUBERNETES: Program = {
  ...{ name: 'make deploy-test', file: 'test/kubernetes/main.ts', part: 'kubernetes' },
  command: [process.execPath, 'test/kubernetes/main.ts'],
};

/**
 * Number of files that run concurrently. It exceeds the number of cores, because most files wait
 * some of the time.
 */
const PLACES = availableParallelism() + 2;

/**
 * Number of files of further parts that run concurrently. Each file starts several processes or a
 * browser.
 */
const PLACES_LATER = Math.max(2, availableParallelism());

/** Maximum duration of a program, in milliseconds. */
const PROGRAM_MS_MAX = 45 * 60_000;

// `process.exit` runs the exit handlers, which end all started processes.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const words = process.argv.slice(2).filter((word) => word !== '--all');
const isAll = process.argv.includes('--all') || words.length > 0;
const wanted = testFiles().filter(
  (file) => words.length === 0 || words.some((word) => file.includes(word)),
);
const jobs = jobsOf(wanted).filter(({ part }) => isAll || part === 'test');
const programs = words.length > 0 ? [] : isAll ? [CHECKS, KUBERNETES] : [CHECKS];

using report = new RunReport(jobs.length + programs.length);
const unsteady = await runEverything();
report.summary();
for (const { name } of unsteady) console.log(`UNSTEADY: ${name} failed, but passed alone`);
end(report.finished.map((finished) => judged(finished)));

/**
 * Runs the part `test`, then all other parts. Programs run at the same time as the files of their
 * part. Files that mostly wait also run at the same time, but one after another. Resolves to the
 * failed files that passed when they ran alone.
 */
async function runEverything(): Promise<Finished[]> {
  await using servers = startRunServers(jobs);
  for (const isLater of [false, true]) {
    const isDue = ({ part }: Pick<Task, 'part'>) => (part !== 'test') === isLater;
    const running = programs.filter(isDue).map(followProgram);
    const due = jobs.filter(isDue);
    const places = isLater ? PLACES_LATER : PLACES;
    await Promise.all([
      runJobs(
        servers,
        due.filter(({ isIdle }) => !isIdle),
        numbersFrom(0, places),
      ),
      runJobs(
        servers,
        due.filter(({ isIdle }) => isIdle),
        numbersFrom(places, 1),
      ),
      ...running,
    ]);
  }
  return await runAgain(servers);
}

/**
 * Runs failed files of the further parts again, one at a time, because real processes and browsers
 * can miss deadlines on a busy machine. Files of `make test` do not run again. Resolves to the
 * failures of files that pass alone.
 */
async function runAgain(servers: RunServers): Promise<Finished[]> {
  const later = new Map(
    jobs.filter(({ part }) => part !== 'test').map((job) => [nameOf(job), job]),
  );
  const worker = new TestWorker({ TMPDIR: servers.temporary });
  const unsteady = await lookAgain(
    report.finished.filter(({ name }) => later.has(name)),
    async (failure) => {
      const job = later.get(failure.name);
      assert(job, 'only files of further parts run again');
      const variables = await servers.variablesFor(job, 0);
      return await report.followAgain(failure, () => runJob(worker, job, variables));
    },
  );
  await worker.stop();
  return unsteady;
}

function followProgram(program: Program): Promise<Finished> {
  return report.follow(program, () => runProgram(program));
}

async function runProgram({ command: [program = '', ...args] }: Program): Promise<Outcome> {
  const { code, text } = await runToEnd(program, args, {}, PROGRAM_MS_MAX);
  const passed = code === 0 ? 1 : 0;
  return { passed, failed: 1 - passed, skipped: 0, text };
}

/**
 * Runs jobs. Half of the workers start with long files, which mostly wait for servers. The other
 * half start with short files, which mostly compute. So neither cores nor workers are idle.
 */
async function runJobs(
  servers: RunServers,
  jobs: readonly Job[],
  places: readonly number[],
): Promise<void> {
  const waiting = new Set(jobs);
  // Files whose server is not ready yet run later.
  const takeNext = (isLong: boolean): Job | undefined => {
    const ready = [...waiting].filter((job) => servers.isReady(job));
    const [next] = [...ready.filter((job) => job.isLong === isLong), ...ready, ...waiting];
    if (next !== undefined) waiting.delete(next);
    return next;
  };
  const work = async (place: number): Promise<void> => {
    const worker = new TestWorker({ TMPDIR: servers.temporary });
    const isLong = place % 2 === 0;
    for (let job = takeNext(isLong); job !== undefined; job = takeNext(isLong)) {
      const next = job;
      const variables = await servers.variablesFor(next, place);
      await report.follow({ ...next, name: nameOf(next) }, () => runJob(worker, next, variables));
    }
    await worker.stop();
  };
  await Promise.all(places.map(work));
}

function numbersFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

async function runJob(
  worker: TestWorker,
  job: Job,
  variables: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const lack = variables['TEST_CASSANDRA_MISSING'];
  if (job.topology === 'cassandra' && lack !== undefined) {
    return {
      passed: 0,
      failed: 0,
      skipped: 1,
      text: `skipped because there is no Cassandra: ${lack}`,
    };
  }
  return job.isAlone ? await worker.runAlone(job, variables) : await worker.run(job, variables);
}

/** Counts a skip as a failure unless `MAY_SKIP` allows the skip. In CI every skip is a failure. */
function judged(finished: Finished): Finished {
  const { name, file, skipped, text } = finished;
  if (skipped === 0) return finished;
  const reasons = [...text.matchAll(/^skipped because (.*)$/gm)].map(([, reason = '']) => reason);
  const isAllowed =
    process.env['CI'] !== 'true' &&
    reasons.length > 0 &&
    reasons.every((reason) =>
      MAY_SKIP.some(({ lack, files }) => lack.test(reason) && isNamed(file, files)),
    );
  console.log(
    `${isAllowed ? 'skipped' : 'FAILED, skipped'}: ${skipped} in ${name}: ${reasons.join('; ') || '?'}`,
  );
  return isAllowed ? finished : { ...finished, failed: finished.failed + skipped, skipped: 0 };
}

function end(outcomes: readonly Outcome[]): void {
  const sum = (count: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  const skipped = sum((outcome) => outcome.skipped);
  const failed = sum((outcome) => outcome.failed) + (outcomes.length === 0 ? 1 : 0);
  const passed = sum((outcome) => outcome.passed);
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
}
