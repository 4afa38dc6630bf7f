import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Bug, handMadeBugs, linesOf, withBug } from '#test/mutation/bug';

/*
 * Confirms results of `bugs.ts` by complete runs of `make test`. Selects bugs at random, writes a
 * group of detected bugs into a checkout, and runs all tests. All test files that detected these
 * bugs before must fail. Undetected bugs share one run.
 *
 * Usage: node test/mutation/whole-runs.ts --checkout FOLDER --results results.jsonl
 *          --out runs.jsonl [--seed n] [--count 30]
 */

/** Maximum detected bugs per run. */
const GROUP_BUGS = 5;
const MINSTD_MODULUS = 2 ** 31 - 1;
const OUTPUT_BYTES_MAX = 64 * 1_024 * 1_024;

const { values } = parseArgs({
  options: {
    checkout: { type: 'string' },
    results: { type: 'string' },
    out: { type: 'string' },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '30' },
  },
});
const { checkout, results, out } = values;
if (checkout === undefined || results === undefined || out === undefined) {
  throw new Error('--checkout, --results and --out are required');
}

const detectedBy = new Map(
  linesOf<{ id: string; by?: string }>(results).map(({ id, by }) => [id, by]),
);
const bugs = shuffled(handMadeBugs(), Number(values.seed)).slice(0, Number(values.count));

const detected = bugs.filter(({ id }) => detectedBy.get(id) !== undefined);
const undetected = bugs.filter(({ id }) => detectedBy.get(id) === undefined);
for (const group of [...groupsOf(detected), undetected]) {
  if (group.length > 0) report(group, failedFiles(checkout, group));
}

/** Groups in which all bugs have different folders and different detecting test files. */
function groupsOf(all: readonly Bug[]): Bug[][] {
  const groups: Bug[][] = [];
  const isApart = (group: Bug[], { id, file }: Bug) =>
    group.length < GROUP_BUGS &&
    group.every((other) => dirname(other.file) !== dirname(file)) &&
    group.every((other) => detectedBy.get(other.id) !== detectedBy.get(id));
  for (const bug of all) {
    const group = groups.find((each) => isApart(each, bug));
    if (group === undefined) groups.push([bug]);
    else group.push(bug);
  }
  return groups;
}

/** Runs `make test` in the checkout with a group of bugs. Returns the failed test files. */
function failedFiles(folder: string, group: readonly Bug[]): readonly string[] {
  const sources = new Map(
    group.map(({ file }) => [join(folder, file), readFileSync(join(folder, file), 'utf8')]),
  );
  try {
    for (const bug of group) {
      const path = join(folder, bug.file);
      writeFileSync(path, withBug(readFileSync(path, 'utf8'), bug));
    }
    const { stdout } = spawnSync(process.execPath, ['test/run.ts'], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, FORCE_COLOR: '0' },
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    const failures = stdout.matchAll(/^\[[^\]]*\] FAILED ([^ :]+)/gm);
    return [...new Set([...failures].map(([, file = '']) => file))];
  } finally {
    for (const [path, source] of sources) writeFileSync(path, source);
  }
}

function report(group: readonly Bug[], failed: readonly string[]): void {
  const expected = group.flatMap(({ id }) => detectedBy.get(id) ?? []);
  const missing = expected.filter((file) => !failed.includes(file));
  const line = { bugs: group.map(({ id }) => id), expected, missing, failed };
  appendFileSync(out ?? '', `${JSON.stringify(line)}\n`);
  console.log(`${line.bugs.join(', ')}: ${failed.length} test files failed, missing: ${missing}`);
}

/** Shuffles items with MINSTD random numbers, so that equal seeds select equal bugs. */
function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  const left = [...items];
  let state = seed;
  const below = (bound: number) => {
    state = (state * 48_271) % MINSTD_MODULUS;
    return Math.floor((state / MINSTD_MODULUS) * bound);
  };
  return items.flatMap(() => left.splice(below(left.length), 1));
}
