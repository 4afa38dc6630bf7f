import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { lookAgain } from '#test/runner/second-look';

type Run = { readonly file: string; readonly failed: number; readonly text: string };

const runOf = (file: string, failed: number, text = ''): Run => ({ file, failed, text });
const good = runOf('good', 0);

/** Repeats failed runs. Files with a name that starts with `busy` pass the second time. */
async function look(runs: readonly Run[]) {
  const asked: string[] = [];
  const unsteady = await lookAgain(runs, async ({ file }) => {
    asked.push(file);
    return runOf(file, file.startsWith('busy') ? 0 : 2);
  });
  return { unsteady, asked };
}

const second = suite('the repetition of failed files');

second('leaves out passed files', async () => {
  assert.equal(await look([good]), { unsteady: [], asked: [] });
});

second('lists files that pass alone', async () => {
  const { unsteady, asked } = await look([good, runOf('busy', 1), good]);
  assert.equal(asked, ['busy']);
  assert.equal(unsteady, [runOf('busy', 1)]);
});

second('does not list files that fail again', async () => {
  const { unsteady, asked } = await look([runOf('broken', 1), runOf('busy', 1)]);
  assert.equal(asked, ['broken', 'busy']);
  assert.equal(unsteady, [runOf('busy', 1)]);
});

second('leaves out properties with a counterexample', async () => {
  const failure = runOf('busy', 1, 'Error: Property failed after 3 tests { seed: 7 }');
  assert.equal(await look([failure]), { unsteady: [], asked: [] });
});

second('includes up to three files, and none if more files failed', async () => {
  const failures = ['busy 1', 'busy 2', 'busy 3', 'busy 4'].map((file) => runOf(file, 1));
  assert.is((await look(failures.slice(1))).unsteady.length, 3);
  assert.equal((await look(failures)).asked, []);
});

second.run();
