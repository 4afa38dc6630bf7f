import { realpath } from 'node:fs/promises';

/** Environment of a process whose changes to files in `folder` are recorded in `log`. */
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
