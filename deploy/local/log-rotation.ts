import { copyFileSync, globSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

/** A log that is longer is put aside, in bytes. Chosen. */
const LOG_BYTES_MAX = 10 * 1_024 * 1_024;

/** Puts the long logs of a folder aside. Throws where a disk takes no copy. */
export function rotateLogs(folder: string, bytesMax = LOG_BYTES_MAX): void {
  for (const name of globSync('*.log', { cwd: folder }))
    putLongLogAside(join(folder, name), bytesMax);
}

/**
 * Copies a long log to `<name>.log.old` and empties the log. One older log is kept. Processes write on into
 * the same file; lines that they write between the copy and the cut are lost.
 */
export function putLongLogAside(logFile: string, bytesMax = LOG_BYTES_MAX): void {
  const bytes = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes <= bytesMax) return;
  copyFileSync(logFile, `${logFile}.old`);
  truncateSync(logFile);
}
