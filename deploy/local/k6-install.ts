import { goInstall } from '#deploy/local/go-install';
import { programPath } from '#deploy/local/program-path';
import { type Print, printNothing } from '#deploy/local/progress';
import { runProgram } from '#deploy/local/run-program';

/** The version that is built: a hundred seconds, once. */
const VERSION = 'v1.8.1';

/** What one on `PATH` must be: the first series that runs TypeScript as it is. */
const SERIES = /^k6(?:\.exe)? v1\./;

/** Saying its version takes some milliseconds; the rest is a busy machine. */
const ANSWER_MS_MAX = 10_000;

/** The file of k6: one of series 1 on `PATH`, or built by Go into the cache. Throws `MissingServer`. */
export async function installedK6(print: Print = printNothing): Promise<string> {
  const onPath = programPath('k6');
  if (onPath !== undefined) {
    const answer = { program: onPath, args: ['version'], msMax: ANSWER_MS_MAX };
    const { output } = await runProgram(answer);
    if (SERIES.test(output)) return onPath;
    const found = output.trim().split('\n', 1)[0] ?? '';
    print(`k6: ${onPath} is not of series 1 ("${found}"); building ${VERSION}`);
  }
  return goInstall({ name: 'k6', path: 'go.k6.io/k6', version: VERSION, binary: 'k6' }, print);
}
