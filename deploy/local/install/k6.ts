import { goInstall } from '#deploy/local/install/go-install';
import { programPath } from '#deploy/local/install/program-path';
import { runProgram } from '#deploy/local/processes/run-program';
import { type Print, printNothing } from '#deploy/local/progress';

/** Version to build. The build takes about 100 s, once. */
const VERSION = 'v1.8.1';

/** Versions accepted from `PATH`: the first series that runs TypeScript directly. */
const SERIES = /^k6(?:\.exe)? v1\./;

/** Maximum time to print the version, in milliseconds. */
const ANSWER_MS_MAX = 10_000;

/** Path of k6: series 1 from `PATH`, or built by Go into the cache. Throws `MissingServer`. */
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
