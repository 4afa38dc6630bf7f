import { join } from 'node:path';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';

/** Requirement of a preloaded library that this machine lacks; undefined if none. */
export function preloadLack(): string | undefined {
  if (process.platform !== 'linux') return 'LD_PRELOAD needs Linux';
  return programPath('gcc') === undefined
    ? 'gcc is not installed (packages gcc and libc6-dev)'
    : undefined;
}

/** Compile timeout in milliseconds; usually less than a second. */
const COMPILE_MS_MAX = 60_000;

/** Compiles a library for `LD_PRELOAD` into `folder`. Returns its path. Throws with gcc's error. */
export async function compilePreload(
  folder: string,
  name: 'disk-recorder' | 'wall-clock',
): Promise<string> {
  const library = join(folder, `${name}.so`);
  const source = `test/power-loss/disk/${name}.c`;
  const args = ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, source];
  const { isOk, output } = await runProgram({ program: 'gcc', args, msMax: COMPILE_MS_MAX });
  if (!isOk) throw new Error(`gcc cannot compile ${source}: ${lastLine(output)}`);
  return library;
}
