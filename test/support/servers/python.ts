import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProgramRun, runProgram } from '#deploy/local/processes/run-program';

/** The client library's folder. */
const PYTHON_CLIENT = 'clients/python';

/** Environments of the client. Only `adapters` has the frameworks of the adapters. */
export type PythonEnvironment = 'tools' | 'adapters';

/** Timeout for a first installation on a busy machine, in milliseconds. */
const INSTALL_MS_MAX = 180_000;

/** Timeout for a tool in milliseconds, shorter than a test file's timeout. */
const TOOL_MS_MAX = 200_000;

/** Reason why the Python client's tests cannot run here; undefined if they can. */
export function pythonLack(environment: PythonEnvironment = 'tools'): string | undefined {
  const minor = environment === 'tools' ? 10 : 11;
  const probe = `import sys, venv, ensurepip; sys.exit(sys.version_info < (3, ${minor}))`;
  const { status } = spawnSync('python3', ['-c', probe], { stdio: 'ignore' });
  if (status === 0) return undefined;
  return `there is no Python 3.${minor} or newer with venv (python3-venv)`;
}

/** Creates an environment of the client library unless up to date. Throws on failure. */
export async function makeEnvironment(environment: PythonEnvironment = 'tools'): Promise<void> {
  const names = environment === 'tools' ? [] : [environment];
  const args = [`${PYTHON_CLIENT}/tools/environment.py`, ...names];
  const { isOk, output } = await runProgram({ program: 'python3', args, msMax: INSTALL_MS_MAX });
  if (!isOk) throw new Error(`cannot create the Python environment: ${output}`);
}

/** Runs a tool from an environment in the library's folder. */
export function runTool(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  environment: PythonEnvironment = 'tools',
): Promise<ProgramRun> {
  const folder = environment === 'tools' ? '.venv' : `.venv-${environment}`;
  const program = join(process.cwd(), PYTHON_CLIENT, folder, 'bin', name);
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
  environment: PythonEnvironment = 'tools',
): Promise<{ readonly outcomes: readonly PythonOutcome[]; readonly run: ProgramRun }> {
  const file = join(tmpdir(), `identity-engine-outcomes-${randomUUID()}`);
  try {
    const options = [`--outcomes=${file}`, ...args];
    const run = await runTool('pytest', options, env, environment);
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const lines = text.split('\n').filter((line) => line !== '');
    return { outcomes: lines.map((line) => JSON.parse(line) as PythonOutcome), run };
  } finally {
    rmSync(file, { force: true });
  }
}
