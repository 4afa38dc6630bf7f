import { join } from 'node:path';
import { goProgram } from '#deploy/local/install/go-program';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Maximum build time, in ms. A first build fetches and compiles all imports. */
const BUILD_MS_MAX = 1_200_000;

/** Builds a Go program into the cache, once. Returns the program's path. Throws `MissingServer`. */
export async function goInstall(wanted: GoPackage, print: Print): Promise<string> {
  const { name, path, version, binary } = wanted;
  const folder = await installOnce(`${name}-${version}-go`, async (target) => {
    const go = await goProgram(`${name} ${version}`, print);
    const build = () =>
      runProgram({
        program: go,
        args: ['install', `${path}@${version}`],
        env: { GOBIN: target },
        msMax: BUILD_MS_MAX,
      });
    const { isOk, output } = await withProgress(print, `${name}: building ${version}`, build);
    if (!isOk) throw new MissingServer(`${name} could not be built: ${lastLine(output)}`);
  });
  return join(folder, binary);
}

/** A Go program: package path, version, and name of the binary. */
export type GoPackage = {
  readonly name: string;
  readonly path: string;
  readonly version: string;
  readonly binary: string;
};
