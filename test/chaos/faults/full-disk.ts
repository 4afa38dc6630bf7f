import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/* This file is separate, because its fault can affect any process, not only Cassandra. */

/** File size limit in bytes that fails every further write. */
const FILE_BYTES_MAX = 1;

/**
 * Fails all file writes of a process, like a full disk. Sets the file size limit of the process
 * (`prlimit`, Linux), because a full disk would disturb all other processes.
 */
export async function fillDiskOf(pid: number): Promise<void> {
  // Set only the soft limit, because unprivileged users cannot raise a hard limit again.
  const limit = `--fsize=${FILE_BYTES_MAX}:`;
  await promisify(execFile)('prlimit', ['--pid', `${pid}`, limit]);
}
