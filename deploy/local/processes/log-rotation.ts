import { copyFileSync, globSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

/** Maximum size of a log before rotation, in bytes. */
const LOG_BYTES_MAX = 10 * 1_024 * 1_024;

/** Rotates each log of a folder above `bytesMax` bytes. Throws if a copy cannot be written. */
export function rotateLogs(folder: string, bytesMax = LOG_BYTES_MAX): void {
  for (const name of globSync('*.log', { cwd: folder })) rotateLog(join(folder, name), bytesMax);
}

/**
 * Copies a long log to `<name>.log.old`, replacing an older copy, and truncates the log. Processes
 * keep their open file. Lines that they write between copy and truncation are lost.
 */
export function rotateLog(logFile: string, bytesMax = LOG_BYTES_MAX): void {
  const bytes = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes <= bytesMax) return;
  copyFileSync(logFile, `${logFile}.old`);
  truncateSync(logFile);
}
