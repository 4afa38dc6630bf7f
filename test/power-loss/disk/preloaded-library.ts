import { join } from 'node:path';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';

/** Missing requirement for a preloaded library; undefined if complete. */
export function preloadLack(): string | undefined {
  if (process.platform !== 'linux') return 'a library loaded before libc needs Linux';
  return programPath('gcc') === undefined
    ? 'there is no gcc (packages gcc and libc6-dev)'
    : undefined;
}

/** Compile timeout in milliseconds; usually below a second. */
const COMPILE_MS_MAX = 60_000;

/** Compiles a library for `LD_PRELOAD` into `folder`; returns its path. */
export async function compilePreload(
  folder: string,
  name: 'disk-recorder' | 'wall-clock',
): Promise<string> {
  const library = join(folder, `${name}.so`);
  const source = `test/power-loss/disk/${name}.c`;
  const args = ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, source];
  const { isOk, output } = await runProgram({ program: 'gcc', args, msMax: COMPILE_MS_MAX });
  if (!isOk) throw new Error(`${source} cannot be compiled: ${lastLine(output)}`);
  return library;
}
