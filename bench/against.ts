/**
 * Compares the speed of this checkout with the speed of another commit. Both services run at the
 * same time and take turns every second. Prints the quartiles of the ratios of all pairs. A path is
 * slower if both medians agree: fewer requests per second, and more CPU per request. Writes no file.
 *
 *   node bench/against.ts <commit> [--quick]
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { comparePairs, type PairSizes, type Ratios } from '#bench/load/pairs';
import { quartilesOf, quartilesText } from '#bench/measures/statistics';
import { tableOf } from '#bench/page/text-table';
import { MAIN } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk, MissingTool } from '#bench/processes/tool-path';
import { startedPrinter } from '#bench/progress';

/**
 * Minimum median ratio of requests per second, and maximum median ratio of the CPU time per request.
 * docs/scale.md says how often comparisons of a commit with itself report a loss.
 */
const RATE_MIN = 0.95;
const COST_MAX = 1.05;

// A full run takes less than five minutes.
const FULL: PairSizes = { starts: 3, pairs: 5, seconds: 1, warmUpS: 4 };
const QUICK: PairSizes = { starts: 1, pairs: 2, seconds: 1, warmUpS: 1 };

const print = startedPrinter();

function hashOf(commit: string): string | undefined {
  const args = ['rev-parse', '--quiet', '--verify', '--short', `${commit}^{commit}`];
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * Checks out the commit into a temporary folder, with this checkout's packages. Returns the folder.
 * Removes the folder when this process ends.
 */
function checkOut(commit: string): string {
  const folder = join(temporaryFolder(), 'base');
  const git = (...args: string[]) => execFileSync('git', args, { stdio: 'pipe' });
  git('worktree', 'add', '--detach', folder, commit);
  process.once('exit', () => git('worktree', 'remove', '--force', folder));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

function isSlower({ rates, costs }: Ratios): boolean {
  return quartilesOf(rates)[1] < RATE_MIN && quartilesOf(costs)[1] > COST_MAX;
}

async function compare(hash: string, isQuick: boolean): Promise<void> {
  const wrk = await findWrk();
  print(`checking out ${hash}`);
  const base = { main: join(checkOut(hash), MAIN) };
  const found = await comparePairs(wrk, [{}, base], isQuick ? QUICK : FULL, print);
  const rows = found.map((ratios) => [
    ratios.what,
    `${ratios.rates.length}`,
    quartilesText(ratios.rates, 3),
    quartilesText(ratios.costs, 3),
    isSlower(ratios) ? '**slower**' : 'no loss',
  ]);
  const head = ['', 'pairs', 'requests/s, ratio', 'CPU per request, ratio', 'verdict'];
  process.stdout.write(`${tableOf(head, rows)}\n`);
  if (!isQuick && found.some(isSlower)) {
    print('a path is slower: profile it with node bench/durable/profile.ts');
    process.exitCode = 1;
  }
}

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [commit] = positionals;
if (commit === undefined || positionals.length > 1) {
  console.error('usage: make against COMMIT=<commit> [ARGS="--quick"]');
  process.exit(2);
}
const hash = hashOf(commit);
if (hash === undefined) {
  console.error(`this repository has no commit ${commit}`);
  process.exit(2);
}
await compare(hash, values.quick).catch((error: unknown) => {
  if (!(error instanceof MissingTool)) throw error;
  console.error(error.message);
  process.exitCode = 1;
});
