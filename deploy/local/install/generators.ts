import { join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Generators of API clients that users run, with pinned versions. */
const PYPI_PACKAGES = ['openapi-python-client==0.29.1', 'datamodel-code-generator==0.89.0'];
const NPM_PACKAGES = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'];

/** Maximum download time in milliseconds, for 60 MB from two registries. */
const FETCH_MS_MAX = 300_000;

/** Programs and environment of the generators. */
export type Generators = {
  readonly folder: string;
  /** Python with both Python packages on `PYTHONPATH`. */
  readonly python: string;
  readonly env: Readonly<Record<string, string>>;
  /** Folder whose `node_modules` has the npm packages. */
  readonly npmFolder: string;
};

/** Returns the generators from the cache. pip and npm fetch them once. Throws `MissingServer`. */
export async function installedGenerators(print: Print): Promise<Generators> {
  const python = programPath('python3');
  if (python === undefined) throw new MissingServer('the generators need python3');
  const name = [...PYPI_PACKAGES, ...NPM_PACKAGES].join('-').replaceAll(/[^\w.-]+/g, '-');
  const folder = await installOnce(`generators-${name}`, async (target) => {
    const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
    const pip = ['install', ...options, '--target', join(target, 'python'), ...PYPI_PACKAGES];
    await fetched(print, ['pip3', 'pip'], pip);
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--save-exact'];
    await fetched(print, ['npm'], ['install', ...quiet, '--prefix', target, ...NPM_PACKAGES]);
  });
  return { folder, python, env: { PYTHONPATH: join(folder, 'python') }, npmFolder: folder };
}

async function fetched(print: Print, programs: string[], args: string[]): Promise<void> {
  const program = programs.map(programPath).find((path) => path !== undefined);
  if (program === undefined) throw new MissingServer(`the generators need ${programs[0]}`);
  const fetch = () => runProgram({ program, args, msMax: FETCH_MS_MAX });
  const { isOk, output } = await withProgress(
    print,
    `fetching generators by ${programs[0]}`,
    fetch,
  );
  if (!isOk) throw new MissingServer(`${programs[0]}: ${lastLine(output)}`);
}
