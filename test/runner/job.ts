import { globSync, readFileSync } from 'node:fs';
import {
  ALONE,
  type FileName,
  IDLE,
  LATER,
  LONG,
  ON_EVERY_STORE,
  type PartName,
  SOONER,
} from '#test/runner/plan';

/** Topology of the service under the tests in `test/api`. Other tests ignore the topology. */
export type Topology = 'memory' | 'processes' | 'cassandra' | 'sqlite';

/** A test file with its topology and its part of the run. */
export type Job = {
  readonly file: string;
  readonly topology: Topology;
  readonly part: PartName;
  /** Whether the file runs in a process of its own. */
  readonly isAlone: boolean;
  /** Whether the file mostly waits. */
  readonly isIdle: boolean;
  /** Whether the file takes long and therefore starts first. */
  readonly isLong: boolean;
};

/** Test counts and output of a job. */
export type Outcome = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly text: string;
};

/** Paths of all test files, sorted. */
export function testFiles(): string[] {
  return globSync(['test/**/*.test.ts', 'clients/{mcp,typescript}/test/*.test.ts']).sort();
}

/**
 * Jobs of test files. A file in `test/api` has a job in memory and a job with three processes. If
 * the file depends on the store, it also has jobs on a SQLite file and on Cassandra.
 */
export function jobsOf(files: readonly string[]): Job[] {
  return files.flatMap((file): Job[] => {
    const isAlone = ALONE.some(({ files }) => isNamed(file, files));
    const later = LATER.find(({ files }) => isNamed(file, files))?.name ?? 'test';
    const part = isNamed(file, SOONER) ? 'test' : later;
    const isIdle = isNamed(file, IDLE);
    const isLong = isNamed(file, LONG);
    const job = { file, isAlone, isIdle, isLong, part, topology: 'memory' } as const;
    if (!file.startsWith('test/api/')) return [job];
    const stores = isNamed(file, ON_EVERY_STORE) ? (['sqlite', 'cassandra'] as const) : [];
    return [
      job,
      ...stores.map((topology) => ({ ...job, topology })),
      { ...job, part: 'processes', topology: 'processes' },
    ];
  });
}

/** Name of a job in the report. */
export function nameOf({ file, topology }: Pick<Job, 'file' | 'topology'>): string {
  return file.startsWith('test/api/') ? `${file} (${topology})` : file;
}

/** Whether a name or pattern of the plan matches the file. */
export function isNamed(file: string, names: readonly FileName[]): boolean {
  return names.some((name) => {
    if (typeof name !== 'string') return name.test(readFileSync(file, 'utf8'));
    return name.endsWith('/') ? file.startsWith(name) : file === name;
  });
}
