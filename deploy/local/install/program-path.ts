import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** First executable file with this name on `PATH`; undefined if missing. */
export function programPath(program: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

/** As `programPath`, but also looks in the `sbin` folders, which may not be on `PATH`. */
export function systemProgramPath(program: string): string | undefined {
  return programPath(program) ?? programPath(`../sbin/${program}`);
}

/** Whether this user may run the file. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
