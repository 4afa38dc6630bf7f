import { setPriority } from 'node:os';
import { parseArgs } from 'node:util';
import { observe, type TestFile } from '#test/mutation/covered';
import { reasonsByName } from '#test/mutation/equivalents';
import { KnownVerdicts } from '#test/mutation/known-verdicts';
import { type Mutant, nameOf } from '#test/mutation/mutant';
import { mutantsOf } from '#test/mutation/mutants-of';
import { filesBelow, testsOf } from '#test/mutation/tests-of';
import { tryMutant, type Verdict } from '#test/mutation/try-mutant';

/*
 * Mutation testing: makes one small change to the code and runs the tests that reach the change,
 * for all possible changes. Lists undetected changes. Skips mutants judged equivalent
 * (`equivalent/`).
 * Usage: node test/mutation/main.ts [folder, file or file:line …] [--every n] [--fresh]
 *          [--workers n]
 * `--every n` tries every nth mutant of a file. `--fresh` ignores cached verdicts
 * (`known-verdicts.ts`).
 */

/** Lowest process priority. */
const PRIORITY = 19;
const WORKERS = 2;

setPriority(PRIORITY);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    every: { type: 'string', default: '1' },
    fresh: { type: 'boolean', default: false },
    workers: { type: 'string', default: String(WORKERS) },
  },
});
const wanted = positionals.length > 0 ? positionals : [''];
const known = new KnownVerdicts(values.fresh);
const reasons = reasonsByName();
const observed = new Map<string, TestFile>();
const total = { tried: 0, killed: 0, stopped: 0, equivalent: 0 };

for (const file of new Set(wanted.flatMap((path) => filesBelow(path.replace(/:\d+$/, ''))))) {
  await tryFile(file);
}
const { tried, killed, stopped, equivalent } = total;
const caught = `${killed} killed, ${stopped} stopped`;
console.log(`${share(killed + stopped, tried)} of ${tried} mutants detected: ${caught}`);
console.log(`${equivalent} mutants judged equivalent and not tried`);
if (tried === 0) process.exitCode = 1;

async function tryFile(file: string): Promise<void> {
  const lines = wanted.flatMap((path) => (path.startsWith(`${file}:`) ? [path.split(':')[1]] : []));
  const all = mutantsOf(file).filter(
    ({ line }) => lines.length === 0 || lines.includes(String(line)),
  );
  const counted = all.filter((mutant) => !reasons.has(nameOf(mutant)));
  const mutants = counted.filter((_, place) => place % Number(values.every) === 0);
  total.equivalent += all.length - counted.length;
  if (mutants.length === 0) return;
  const unknown = mutants.filter((mutant) => known.get(mutant) === undefined);
  if (unknown.length > 0) await tryAll(unknown, await testsReaching(file));
  known.save();
  const results = mutants.flatMap((mutant) => {
    const verdict = known.get(mutant);
    return verdict === undefined ? [] : [{ mutant, verdict }];
  });
  const count = (kind: Verdict['kind']) =>
    results.filter(({ verdict }) => verdict.kind === kind).length;
  const noticed = count('killed') + count('stopped');
  total.tried += results.length;
  total.killed += count('killed');
  total.stopped += count('stopped');
  console.log(`${share(noticed, results.length)} ${file}: ${noticed} of ${results.length}`);
  for (const { mutant, verdict } of results) {
    if (verdict.kind === 'killed' || verdict.kind === 'stopped') continue;
    const { line, within, operator, was, becomes } = mutant;
    console.log(`  ${verdict.kind} ${file}:${line} ${within} (${operator})`);
    console.log(`    - ${was}\n    + ${becomes}`);
  }
}

/** Test files that reach a file, fastest first. */
async function testsReaching(file: string): Promise<TestFile[]> {
  const tests: TestFile[] = [];
  for (const test of testsOf(file)) {
    const seen = observed.get(test) ?? (await observe(test));
    observed.set(test, seen);
    tests.push(seen);
  }
  return tests.toSorted((one, other) => one.ms - other.ms);
}

async function tryAll(mutants: readonly Mutant[], tests: readonly TestFile[]): Promise<void> {
  const waiting = [...mutants];
  const noticed = new Map<string, number>();
  // Fast test files that detected many mutants of the file run first.
  const worth = ({ file, ms }: TestFile) => (noticed.get(file) ?? 0) / ms;
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const ordered = tests.toSorted((one, other) => worth(other) - worth(one));
      const verdict = await tryMutant(mutant, ordered);
      if ('by' in verdict) noticed.set(verdict.by, (noticed.get(verdict.by) ?? 0) + 1);
      known.set(mutant, verdict);
    }
  };
  await Promise.all(Array.from({ length: Number(values.workers) }, work));
}

function share(part: number, whole: number): string {
  return `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`.padStart(7);
}
