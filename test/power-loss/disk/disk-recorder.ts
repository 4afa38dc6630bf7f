import { realpath } from 'node:fs/promises';

/** Environment variables that record a process's file operations in `folder` to the file `log`. */
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
