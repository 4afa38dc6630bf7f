import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Bytes at which no file can grow any more: all that is worth writing lies beyond. */
const FILE_BYTES_MAX = 1;

/**
 * Lets every further write of a process to a file fail, as on a full disk: by its limit of a file's
 * size (`prlimit`, Linux), because filling a real disk would disturb everybody else on it.
 */
export async function fillDiskOf(pid: number): Promise<void> {
  // The soft limit alone: the hard one cannot be raised again by everybody.
  const limit = `--fsize=${FILE_BYTES_MAX}:`;
  await promisify(execFile)('prlimit', ['--pid', `${pid}`, limit]);
}
