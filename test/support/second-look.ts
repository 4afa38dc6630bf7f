import type { Outcome } from '#test/support/file-run';

/** This many files may fail because the machine was busy; if more do, something else is the matter. */
const FILES_MAX = 3;

/** What fast-check says of a counterexample. It draws others the next time, so there is no second look. */
const COUNTEREXAMPLE = /Property failed/;

/**
 * Runs what failed once more, one file after the other, with the machine to itself: a test whose time
 * ran out beside the others passes then. What passed only now is `unsteady`, and the run says so: it
 * is a debt, not a success. A property with a counterexample stays failed.
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
