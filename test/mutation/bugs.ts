import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Bug, handMadeBugs, linesOf, withBug } from '#test/mutation/bug';
import { type Job, jobsOf, nameOf, type Topology, testFiles } from '#test/runner/job';
import { killGroup } from '#test/runner/program';
import { type RunServers, startRunServers } from '#test/runner/servers';

/*
 * For each bug of `test/mutation/bugs`, runs the test files that reach the bug, one after the other
 * until a test fails. Writes one JSON line per bug.
 *
 * Bugs are written into a checkout (`--checkout`), so that services, workers and browsers of a test
 * contain the bug too. Each checkout runs one test file at a time.
 *
 * `make check` detects none of these bugs, because they keep types, formatting and lint rules.
 *
 * Usage: node test/mutation/bugs.ts --map coverage-map.jsonl --out results.jsonl
 *          --checkout FOLDER [--checkout FOLDER] [--minutes n] [--part test]
 *          [--before results.jsonl] [id …]
 *
 * `--part test` uses only test files of `make test`. `--before` names earlier results: test files
 * that detected a bug run first, and undetected bugs are skipped.
 */

/** A line of the coverage map: one run of a test file, and the reached lines by source file. */
type Reach = {
  readonly file: string;
  readonly topology: Topology;
  readonly seconds: number;
  readonly lines: Readonly<Record<string, string>>;
};

type Result = {
  readonly id: string;
  /** Test file that detected the bug. */
  readonly by: string | undefined;
  readonly topology?: Topology;
  readonly seconds: number;
  /** Number of test files that ran. */
  readonly ran: number;
  /** Number of test files that reach the bug. */
  readonly reach: number;
};

const FAILED = '✘';

/** The time limit of a test file is this multiple of its duration without the bug + `START_MS`. */
const SLOWNESS_MAX = 4;

/** Constant part of the time limit of a test file, in milliseconds. */
const START_MS = 30_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    map: { type: 'string', default: '.cache/coverage-map.jsonl' },
    out: { type: 'string', default: '.cache/bugs.jsonl' },
    checkout: { type: 'string', multiple: true, default: [] },
    minutes: { type: 'string', default: '15' },
    part: { type: 'string' },
    before: { type: 'string' },
  },
});

process.on('SIGTERM', () => process.exit(130));
process.on('SIGINT', () => process.exit(130));

const jobs = new Map(
  jobsOf(testFiles())
    .filter(({ part }) => values.part === undefined || part === values.part)
    .map((job) => [nameOf(job), job]),
);
const map = linesOf<Reach>(values.map).filter((reach) => jobs.has(nameOf(reach)));
const before = new Map(
  (values.before === undefined ? [] : linesOf<Result>(values.before))
    .filter(({ by }) => by !== undefined)
    .map((result) => [result.id, result]),
);
const known = new Set(
  existsSync(values.out) ? linesOf<Result>(values.out).map(({ id }) => id) : [],
);
const bugs = handMadeBugs()
  .filter(({ id }) => !known.has(id) && (values.before === undefined || before.has(id)))
  .filter(({ id }) => positionals.length === 0 || positionals.some((part) => id.startsWith(part)));

const waiting = [...bugs];
{
  await using servers = startRunServers([...jobs.values()]);
  await Promise.all(values.checkout.map((checkout, place) => work(checkout, place, servers)));
}

async function work(checkout: string, place: number, servers: RunServers): Promise<void> {
  const variablesOf = (job: Job) => servers.variablesFor(job, place);
  for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
    const path = join(checkout, bug.file);
    const source = readFileSync(path, 'utf8');
    try {
      const result = await tryBug(bug, source, checkout, variablesOf);
      appendFileSync(values.out, `${JSON.stringify(result)}\n`);
      console.log(
        `${result.id}: ${result.by ?? 'NOT DETECTED'} (${result.ran} of ${result.reach} files, ${result.seconds.toFixed(0)} s)`,
      );
    } finally {
      writeFileSync(path, source);
    }
  }
}

async function tryBug(
  bug: Bug,
  source: string,
  checkout: string,
  variablesOf: (job: Job) => Promise<Readonly<Record<string, string>>>,
): Promise<Result> {
  const startedMs = performance.now();
  const path = join(checkout, bug.file);
  const buggy = withBug(source, bug);
  writeFileSync(path, buggy);
  const reaching = reachingTests(bug, source);
  let ran = 0;
  const isLate = () => performance.now() - startedMs > Number(values.minutes) * 60_000;
  const result = (by: string | undefined, topology?: Topology): Result => ({
    ...{ id: bug.id, by, seconds: (performance.now() - startedMs) / 1_000, ran },
    ...{ reach: reaching.length, ...(topology === undefined ? {} : { topology }) },
  });
  for (const reach of reaching) {
    const { file, topology, seconds } = reach;
    const job = jobs.get(nameOf(reach));
    if (job === undefined || isLate()) break;
    ran += 1;
    const msMax = seconds * 1_000 * SLOWNESS_MAX + START_MS;
    const env = { ...(await variablesOf(job)), TEST_TOPOLOGY: topology };
    const isPassing = () => passes(checkout, file, env, msMax);
    if (await isPassing()) continue;
    // A failure detects the bug only if the test file passes without the bug.
    writeFileSync(path, source);
    const isSound = await isPassing();
    writeFileSync(path, buggy);
    if (isSound) return result(file, topology);
    console.log(`${bug.id}: ignored ${file}, which also fails without the bug`);
  }
  return result(undefined);
}

/**
 * Test files that reach a bug, in the order in which they run. The order prefers test files in the
 * bug's folder, with a similar name, with a short duration, and with few reached files.
 */
function reachingTests(bug: Bug, source: string): Reach[] {
  const first = source.slice(0, source.indexOf(bug.was)).split('\n').length;
  const last = first + bug.was.split('\n').length - 1;
  const room = bug.id.replace(/-\d+$/, '');
  const words = basename(bug.file).replace(/\..*$/, '').split(/[-_]/);
  const found = before.get(bug.id);
  const cost = ({ file, topology, seconds, lines }: Reach): number => {
    if (file === found?.by && topology === found?.topology) return 0;
    const reached = Object.keys(lines).length;
    const isNear = file.includes(`test/${room}/`);
    const isNamed = words.some((word) => word.length > 3 && file.includes(word.replace(/s$/, '')));
    return (seconds + 0.3) * (reached / 100 + 0.2) * (isNear ? 0.2 : 1) * (isNamed ? 0.2 : 1);
  };
  return map
    .filter((reach) => isReached(reach, bug, first, last))
    .toSorted((one, other) => cost(one) - cost(other));
}

function isReached({ file, lines }: Reach, bug: Bug, first: number, last: number): boolean {
  // The coverage map has no browser code and no client code. All tests of pages and clients may
  // reach bugs in this code.
  if (bug.file.startsWith('clients/python/')) return /test\/clients\/(python|crash)/.test(file);
  if (bug.file.startsWith('clients/typescript/')) {
    return /^clients\/typescript\/|test\/clients\/(?!python)/.test(file);
  }
  const isPage = bug.file.startsWith('services/programs/console/pages/');
  if (isPage && /^test\/console\/pages\//.test(file)) return true;
  return (lines[bug.file] ?? '').split(',').some((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return from <= last && first <= to;
  });
}

function passes(
  cwd: string,
  file: string,
  variables: Readonly<Record<string, string>>,
  msMax: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...variables, FORCE_COLOR: '0' };
    const child = spawn(process.execPath, [file], {
      ...{ cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] },
    });
    let isFailed = false;
    const fail = (): void => {
      isFailed = true;
      killGroup(child.pid);
    };
    const cut = (): void => killGroup(child.pid);
    process.once('exit', cut);
    const timer = setTimeout(fail, msMax);
    child.stdout?.on('data', (chunk) => {
      if (String(chunk).includes(FAILED)) fail();
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      process.off('exit', cut);
      killGroup(child.pid);
      resolve(!isFailed && code === 0);
    });
  });
}
