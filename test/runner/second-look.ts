import type { Outcome } from '#test/runner/job';

/** Failed files that may run again. If more fail, the machine is not the reason. */
const FILES_MAX = 3;

/** Text of fast-check for a counterexample. The next run would draw other values. */
const COUNTEREXAMPLE = /Property failed/;

/**
 * Runs failed files once more, one after the other: a test that missed a deadline beside others passes
 * then. The result has the new run in the place of the failed one. `unsteady` are the failed runs
 * whose file passed now. A property with a counterexample stays failed.
 */
export async function lookAgain<Run extends Pick<Outcome, 'failed' | 'text'>>(
  runs: readonly Run[],
  again: (run: Run) => Promise<Run>,
): Promise<{ readonly runs: Run[]; readonly unsteady: Run[] }> {
  const isFailed = ({ failed }: Run) => failed > 0;
  const looked = [...runs];
  const unsteady: Run[] = [];
  const failures = runs.filter(isFailed);
  for (const failure of failures.length > FILES_MAX ? [] : failures) {
    if (COUNTEREXAMPLE.test(failure.text)) continue;
    const second = await again(failure);
    looked[looked.indexOf(failure)] = second;
    if (!isFailed(second)) unsteady.push(failure);
  }
  return { runs: looked, unsteady };
}
