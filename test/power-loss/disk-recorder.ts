import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { programPath } from '#deploy/local/program-path';
import { lastLine, runProgram } from '#deploy/local/run-program';

/** What the recorder needs of this machine and does not find; undefined: nothing. */
export function recorderLack(): string | undefined {
  if (process.platform !== 'linux') return 'the recorder of writes needs Linux';
  return programPath('gcc') === undefined
    ? 'there is no gcc (packages gcc and libc6-dev)'
    : undefined;
}

/** Compiling takes less than a second, in milliseconds. */
const COMPILE_MS_MAX = 60_000;

/** Compiles the recorder into `folder`; answers the file of the library. */
export async function compileRecorder(folder: string): Promise<string> {
  const library = join(folder, 'disk-recorder.so');
  const source = 'test/power-loss/disk-recorder.c';
  const args = ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, source];
  const { isOk, output } = await runProgram({ program: 'gcc', args, msMax: COMPILE_MS_MAX });
  if (!isOk) throw new Error(`the recorder cannot be compiled: ${lastLine(output)}`);
  return library;
}

/** The environment of a process whose changes of the files in `folder` are appended to `log`. */
export async function recordingVariables(
  library: string,
  folder: string,
  log: string,
  syncUs = 0,
): Promise<Record<string, string>> {
  return {
    LD_PRELOAD: library,
    DISK_FOLDER: await realpath(folder),
    DISK_LOG: log,
    DISK_SYNC_US: `${syncUs}`,
  };
}
