import type { Outcome } from '#test/runner/job';

/** Maximum number of failed files that run again. If more files fail, the cause is not the load. */
const FILES_MAX = 3;

/** Text that fast-check prints for a counterexample. A second run would draw other values. */
const COUNTEREXAMPLE = /Property failed/;

/**
 * Runs failed files again, one at a time, because a test may have missed a deadline under load.
 * Resolves to the first runs of files that pass now. Files with a counterexample do not run again.
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
