import { join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Other releases of Node.js, on which the model must give the same results: the oldest allowed, the newest. */
export const NODE_RELEASES = ['20.20.2', '26.12.1'] as const;

/** Maximum download time in milliseconds, for 60 MB from a registry. */
const FETCH_MS_MAX = 300_000;

/** Path of a release of Node.js in the cache. npm fetches it once. Throws `MissingServer`. */
export async function installedNode(release: string, print: Print): Promise<string> {
  const folder = await installOnce(`node-${release}-npm`, async (target) => {
    const npm = programPath('npm');
    if (npm === undefined) throw new MissingServer('other releases of Node.js need npm');
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts'];
    const args = ['install', ...quiet, '--prefix', target, `${PACKAGE}@${release}`];
    const fetch = () => runProgram({ program: npm, args, msMax: FETCH_MS_MAX });
    const { isOk, output } = await withProgress(print, `fetching Node.js ${release}`, fetch);
    if (!isOk) throw new MissingServer(`npm: ${lastLine(output)}`);
  });
  return join(folder, 'node_modules', PACKAGE, 'bin', 'node');
}

/** Package with the program for this machine. */
const PACKAGE = `node-${process.platform}-${process.arch}`;
