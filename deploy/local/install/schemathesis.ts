import { join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/* Separate from the fuzz test, because all installers of programs are in this folder. */

/** PyPI package and version. The list of known findings is for this version. */
const VERSION = '4.32.5';
const PYPI_PACKAGE = `schemathesis==${VERSION}`;

/** Maximum download time in milliseconds, for 90 MB from a registry. */
const FETCH_MS_MAX = 300_000;

/** Program, first arguments and environment of Schemathesis. */
export type Schemathesis = {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/**
 * Returns Schemathesis from the cache; pip fetches a missing Schemathesis. Throws `MissingServer`.
 */
export async function installedSchemathesis(print: Print): Promise<Schemathesis> {
  const python = programPath('python3');
  if (python === undefined) throw new MissingServer('Schemathesis needs python3');
  const folder = await installOnce(`schemathesis-${VERSION}-pypi`, async (target) => {
    const pip = programPath('pip3') ?? programPath('pip');
    if (pip === undefined) throw new MissingServer('Schemathesis needs pip (python3-pip)');
    const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
    const args = ['install', ...options, '--target', target, PYPI_PACKAGE];
    const fetch = () => runProgram({ program: pip, args, msMax: FETCH_MS_MAX });
    const { isOk, output } = await withProgress(print, `fetching ${PYPI_PACKAGE} (90 MB)`, fetch);
    if (!isOk) throw new MissingServer(`pip: ${lastLine(output)}`);
  });
  return { program: python, args: [join(folder, 'bin', 'st')], env: { PYTHONPATH: folder } };
}
