import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterSize } from '#deploy/local/cluster-plan';
import { readJson } from '#deploy/local/json-file';

/** What a supervisor leaves in its folder about the cluster that it runs. */
export type ClusterRecord = {
  readonly size: ClusterSize;
  /** Whether every shard was served once since it started. */
  readonly isReady: boolean;
  /** How often each process was started again because it had ended. */
  readonly restarts: Readonly<Record<string, number>>;
};

/** Where the supervisor of a cluster leaves its own record. */
export function supervisorFolder(folder: string): string {
  return join(folder, 'supervisor');
}

/** The cluster that runs, or ran last, on this folder. */
export function readCluster(folder: string): ClusterRecord | undefined {
  return readJson(fileIn(folder));
}

/** Replaces what is known of the folder's cluster; readers see the old or the new. */
export async function writeCluster(folder: string, record: ClusterRecord): Promise<void> {
  await writeFile(`${fileIn(folder)}.new`, `${JSON.stringify(record, undefined, 2)}\n`);
  await rename(`${fileIn(folder)}.new`, fileIn(folder));
}

function fileIn(folder: string): string {
  return join(folder, 'cluster.json');
}
