import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { addReachedLines, type Lines, packLines } from '#test/mutation/reached-lines';
import { jobsOf, nameOf, testFiles } from '#test/runner/job';
import { runToEnd } from '#test/runner/program';
import { startRunServers } from '#test/runner/servers';

/*
 * Writes the coverage map: one JSON line per test run, with the reached product lines. Prints the
 * total line coverage. All test files take an hour.
 * Usage: node test/mutation/coverage-map.ts [--out FILE] [part of a path …]
 */

/** Number of concurrent test files. */
const PLACES = 2;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: '.cache/coverage-map.jsonl' } },
});
const files = testFiles().filter(
  (file) => positionals.length === 0 || positionals.some((part) => file.includes(part)),
);
const jobs = jobsOf(files);
const waiting = [...jobs];
const reachedByAll: Lines = new Map();
writeFileSync(values.out, '');
{
  await using servers = startRunServers(jobs);
  const work = async (_: unknown, place: number): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const variables = await servers.variablesFor(job, place);
      await mapFile(job.file, job.topology, variables);
      console.log(`${jobs.length - waiting.length}/${jobs.length} ${nameOf(job)}`);
    }
  };
  await Promise.all(Array.from({ length: PLACES }, work));
}
printCoverage();

async function mapFile(
  file: string,
  topology: string,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'coverage-'));
  const startedMs = performance.now();
  const { code, text } = await runToEnd(process.execPath, [file], {
    ...variables,
    // V8 counts cached code only by whole functions.
    ...{ TEST_TOPOLOGY: topology, NODE_V8_COVERAGE: folder, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  if (code !== 0) console.log(`${file} failed, but its reached lines are counted\n${text}`);
  const reached: Lines = new Map();
  addReachedLines(folder, reached);
  rmSync(folder, { recursive: true });
  for (const [source, all] of reached) {
    reachedByAll.set(source, (reachedByAll.get(source) ?? new Set()).union(all));
  }
  const lines = Object.fromEntries([...reached].map(([source, all]) => [source, packLines(all)]));
  appendFileSync(values.out, `${JSON.stringify({ file, topology, seconds, lines })}\n`);
}

/** Prints the line coverage of all loaded files. Files with only types have no code. */
function printCoverage(): void {
  let reached = 0;
  let all = 0;
  for (const [file, lines] of reachedByAll) {
    reached += lines.size;
    all += readFileSync(file, 'utf8').split('\n').length - 1;
  }
  console.log(`${reached} of ${all} lines reached: ${((100 * reached) / all).toFixed(2)} %`);
}
