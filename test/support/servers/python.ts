import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProgramRun, runProgram } from '#deploy/local/processes/run-program';

/** The client library's folder. */
const PYTHON_CLIENT = 'clients/python';

/** Folder with the programs of the client's Python environment. */
const PROGRAMS = `${PYTHON_CLIENT}/.venv/bin`;

/** Timeout for a first installation on a busy machine, in milliseconds. */
const INSTALL_MS_MAX = 180_000;

/** Timeout for a tool in milliseconds, shorter than a test file's timeout. */
const TOOL_MS_MAX = 200_000;

const PROBE = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';

/** Reason why the Python client's tests cannot run here; undefined if they can. */
export function pythonLack(): string | undefined {
  const { status } = spawnSync('python3', ['-c', PROBE], { stdio: 'ignore' });
  return status === 0 ? undefined : 'there is no Python 3.10 or newer with venv (python3-venv)';
}

/** Creates the client library's environment unless up to date. Throws on failure. */
export async function makeEnvironment(): Promise<void> {
  const args = [`${PYTHON_CLIENT}/tools/environment.py`];
  const { isOk, output } = await runProgram({ program: 'python3', args, msMax: INSTALL_MS_MAX });
  if (!isOk) throw new Error(`cannot create the Python environment: ${output}`);
}

/** Runs a tool from the environment in the library's folder. */
export function runTool(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramRun> {
  const program = join(process.cwd(), PROGRAMS, name);
  return runProgram({ program, args, msMax: TOOL_MS_MAX, folder: PYTHON_CLIENT, env });
}

/** A pytest test's outcome. */
export type PythonOutcome = {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly text: string;
};

/** Runs pytest; returns each test's outcome and the output. */
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
