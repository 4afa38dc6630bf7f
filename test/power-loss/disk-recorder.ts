import { realpath } from 'node:fs/promises';

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
