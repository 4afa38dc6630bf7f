import type { Outcome } from '#test/runner/job';

/** Failed files that may run again. If more fail, the machine is not the reason. */
const FILES_MAX = 3;

/** Text of fast-check for a counterexample. The next run would draw other values. */
const COUNTEREXAMPLE = /Property failed/;

/**
 * Runs failed files once more, one after the other: a test that missed a deadline beside others passes
 * then. Returns the failed runs of files that pass now. A property with a counterexample does not run
 * again.
 */
export async function lookAgain<Run extends Pick<Outcome, 'failed' | 'text'>>(
  runs: readonly Run[],
  again: (run: Run) => Promise<Run>,
): Promise<Run[]> {
  const unsteady: Run[] = [];
  const failures = runs.filter(({ failed }) => failed > 0);
  for (const failure of failures.length > FILES_MAX ? [] : failures) {
    if (COUNTEREXAMPLE.test(failure.text)) continue;
    const { failed } = await again(failure);
    if (failed === 0) unsteady.push(failure);
  }
  return unsteady;
}
