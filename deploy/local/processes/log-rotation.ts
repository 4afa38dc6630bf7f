import { copyFileSync, globSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

/** Maximum size of a log before rotation, in bytes. */
const LOG_BYTES_MAX = 10 * 1_024 * 1_024;

/** Rotates the long logs of a folder. Throws if a copy cannot be written. */
export function rotateLogs(folder: string, bytesMax = LOG_BYTES_MAX): void {
  for (const name of globSync('*.log', { cwd: folder }))
    putLongLogAside(join(folder, name), bytesMax);
}

/**
 * Copies a long log to `<name>.log.old` and truncates the log. Only one old log is kept. Processes
 * keep their open file; lines written between copy and truncation are lost.
 */
export function putLongLogAside(logFile: string, bytesMax = LOG_BYTES_MAX): void {
  const bytes = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes <= bytesMax) return;
  copyFileSync(logFile, `${logFile}.old`);
  truncateSync(logFile);
}
