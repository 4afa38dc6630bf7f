import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProgramRun, runProgram } from '#deploy/local/run-program';

/** Where the client library lies. */
const PYTHON_CLIENT = 'clients/python';

/** Where programs of its environment are. */
const PROGRAMS = `${PYTHON_CLIENT}/.venv/bin`;

/** Installing a hundred packages for the first time on a busy machine, in milliseconds. */
const INSTALL_MS_MAX = 180_000;

/** The longest run of one tool, in milliseconds: less than a test file may take. */
const TOOL_MS_MAX = 200_000;

const PROBE = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';

/** Why the tests of the Python client cannot run here; undefined where they can. */
export function pythonLack(): string | undefined {
  const { status } = spawnSync('python3', ['-c', PROBE], { stdio: 'ignore' });
  return status === 0 ? undefined : 'there is no Python 3.10 or newer with venv (python3-venv)';
}

/** Makes the environment of the client library unless it is there. Throws where that fails. */
export async function makeEnvironment(): Promise<void> {
  const args = [`${PYTHON_CLIENT}/tools/environment.py`];
  const { isOk, output } = await runProgram({ program: 'python3', args, msMax: INSTALL_MS_MAX });
  if (!isOk) throw new Error(`no environment for Python: ${output}`);
}

/** Runs a tool of the environment in the folder of the library. */
export function runTool(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramRun> {
  const program = join(process.cwd(), PROGRAMS, name);
  return runProgram({ program, args, msMax: TOOL_MS_MAX, folder: PYTHON_CLIENT, env });
}

/** What came of one test of pytest. */
export type PythonOutcome = {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly text: string;
};

/** Runs tests with pytest and gives what came of each, and everything that was written. */
export async function runPytest(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly outcomes: readonly PythonOutcome[]; readonly run: ProgramRun }> {
  const file = join(tmpdir(), `identity-engine-outcomes-${randomUUID()}`);
  try {
    const run = await runTool('pytest', [`--outcomes=${file}`, ...args], env);
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const lines = text.split('\n').filter((line) => line !== '');
    return { outcomes: lines.map((line) => JSON.parse(line) as PythonOutcome), run };
  } finally {
    rmSync(file, { force: true });
  }
}
