import { globSync } from 'node:fs';

/** Folders and files to mutate, with the test files that should detect their mutants. */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  'services/domain/identity/': [
    'test/identity/*.test.ts',
    'test/engine/instance/report-json.test.ts',
  ],
  'services/actor-system/actor-runtime/': ['test/actor-runtime/**/*.test.ts'],
  'services/actor-system/shards/': ['test/shards/*.test.ts'],
  'services/actor-system/cluster/': ['test/cluster/**/*.test.ts'],
  'services/programs/limiter/': ['test/limiter/**/*.test.ts'],
  'services/infrastructure/stdlib/hash-map.ts': ['test/stdlib/number-map.test.ts'],
  'services/programs/edge/callers/admission.ts': [
    'test/edge/admission/{admission*,bad-key-flood,limited-keys,settlement}.test.ts',
  ],
};

/** Files to mutate below a path; '' for all files. */
export function filesBelow(path: string): string[] {
  return Object.keys(TESTS)
    .flatMap((place) => globSync(place.endsWith('/') ? `${place}**/*.ts` : place))
    .filter((file) => file.startsWith(path))
    .sort();
}

/** Slow load and measurement tests, which detect few mutants. */
const LEFT_OUT = /\/(lossy-link|many-accounts|memory|month-under-load)\.test\.ts$/;

/** Test files that should detect mutants of a file. */
export function testsOf(file: string): string[] {
  const [, patterns = []] = Object.entries(TESTS).find(([place]) => file.startsWith(place)) ?? [];
  return globSync([...patterns])
    .filter((test) => !LEFT_OUT.test(test))
    .sort();
}
