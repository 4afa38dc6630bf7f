import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** File size limit in bytes that blocks every further write. */
const FILE_BYTES_MAX = 1;

/**
 * Makes all file writes of a process fail, as on a full disk. Uses the process's file size limit
 * (`prlimit`, Linux), because a full real disk would disturb everything else.
 */
export async function fillDiskOf(pid: number): Promise<void> {
  // Only the soft limit: unprivileged users cannot raise a lowered hard limit.
  const limit = `--fsize=${FILE_BYTES_MAX}:`;
  await promisify(execFile)('prlimit', ['--pid', `${pid}`, limit]);
}
