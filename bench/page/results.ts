import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { RunFacts } from '#bench/measures/machine';
import type { Findings } from '#bench/page/part';

/** File with the newest results of every part, from which the page is written. */
const RESULTS_FILE = 'bench/results.json';

/** Results of a part with the circumstances of their run. */
export type PartResults = Findings &
  Omit<RunFacts, 'load'> & {
    /** Absent in results before this field existed. */
    readonly load?: string;
    readonly minutes: number;
  };

/** Results by the names of parts. */
export type Results = Readonly<Record<string, PartResults>>;

/** Reads the file of results. */
export function readResults(file = RESULTS_FILE): Results {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Replaces the results of a part in the file, and returns all results. */
export function keepResults(name: string, found: PartResults): Results {
  const results = { ...readResults(), [name]: found };
  writeFileSync(RESULTS_FILE, `${JSON.stringify(results, null, 1)}\n`);
  return results;
}

/** Commits of the measured code after which a result is old. Source: the project's rule. */
export const COMMITS_MAX = 60;

/** Code that every observation runs. */
const HOT_PATHS = [
  ...['services/actor-system', 'services/domain/identity', 'services/domain/accounts'],
  ...['services/infrastructure/grpc', 'services/infrastructure/storage'],
  ...['services/infrastructure/telemetry', 'services/infrastructure/stdlib'],
  ...['services/programs/edge', 'services/programs/engine', 'services/programs/limiter'],
];

/**
 * Names of the parts with old results. `commitsSince` returns the number of commits of the measured
 * code since a commit, or undefined if the repository lacks the commit.
 */
export function agedParts(
  results: Results,
  commitsSince: (commit: string) => number | undefined,
): string[] {
  return Object.entries(results)
    .filter(([, { commit }]) => {
      const since = commitsSince(commit.split(' ')[0] ?? '');
      return since === undefined || since > COMMITS_MAX;
    })
    .map(([name]) => name);
}

/** Number of commits of the measured code since `commit`; undefined for an unknown commit. */
export function hotCommitsSince(commit: string): number | undefined {
  const args = ['rev-list', '--count', `${commit}..HEAD`, '--', ...HOT_PATHS];
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}
