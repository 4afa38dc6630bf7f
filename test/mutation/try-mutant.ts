import { pathToFileURL } from 'node:url';
import type { TestFile } from '#test/mutation/covered';
import type { Mutant } from '#test/mutation/mutant';
import { runTestFile } from '#test/mutation/test-process';

/** Result of a mutant. `unreached`: no test runs the mutated code. */
export type Verdict =
  | { readonly kind: 'killed' | 'stopped'; readonly by: string }
  | { readonly kind: 'survived' | 'unreached' };

/** The time limit of a test file is this multiple of its duration without mutation + a constant. */
const SLOWNESS_MAX = 4;

/** Additional CPU time for the start of a test file, in seconds. */
const START_CPU_SECONDS = 3;

/** Additional wall time for the start of a test file, in milliseconds. */
const START_MS = 20_000;

/** Runs the test files that reach a mutant, in order, until a test file detects the mutant. */
export async function tryMutant(mutant: Mutant, tests: readonly TestFile[]): Promise<Verdict> {
  const reaching = tests.filter(({ reaches }) => reaches(mutant));
  if (reaching.length === 0) return { kind: 'unreached' };
  const { file, start, end, replacement } = mutant;
  const url = pathToFileURL(file).href;
  const variables = { MUTANT: JSON.stringify({ url, start, end, replacement }) };
  for (const by of reaching) {
    const wallMs = SLOWNESS_MAX * by.ms + START_MS;
    const cpuSeconds = Math.ceil((SLOWNESS_MAX * by.ms) / 1_000) + START_CPU_SECONDS;
    const ending = await runTestFile(by.file, variables, { cpuSeconds, wallMs });
    if (ending === 'failed') return { kind: 'killed', by: by.file };
    if (ending === 'stopped') return { kind: 'stopped', by: by.file };
  }
  return { kind: 'survived' };
}
