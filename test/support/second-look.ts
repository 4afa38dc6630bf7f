import type { Outcome } from '#test/support/file-run';

/** So many files may fail because the machine was busy; if more do, something else is the matter. */
const FILES_MAX = 3;

/**
 * Runs what failed once more, one file after the other, with the machine to itself. A test whose time
 * ran out beside the others passes then; a test that has found something fails again. What passed
 * only now is `unsteady`, and the run says so: it is a debt, not a success.
 */
export async function lookAgain<Run extends Pick<Outcome, 'failed'>>(
  runs: readonly Run[],
  again: (run: Run) => Promise<Run>,
): Promise<{ readonly runs: Run[]; readonly unsteady: Run[] }> {
  const isFailed = ({ failed }: Run) => failed > 0;
  const looked = [...runs];
  const unsteady: Run[] = [];
  const failures = runs.filter(isFailed);
  for (const failure of failures.length > FILES_MAX ? [] : failures) {
    const second = await again(failure);
    looked[looked.indexOf(failure)] = second;
    if (!isFailed(second)) unsteady.push(failure);
  }
  return { runs: looked, unsteady };
}
