import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterSize } from '#deploy/local/cluster-plan';
import { readJson } from '#deploy/local/processes/json-file';

/** The supervisor's record of its cluster. */
export type ClusterRecord = {
  readonly size: ClusterSize;
  /** Whether all shards were served at some time since the start. */
  readonly isReady: boolean;
  /** Number of restarts after unexpected ends, by process. */
  readonly restarts: Readonly<Record<string, number>>;
};

/** Folder for the supervisor's process record. */
export function supervisorFolder(folder: string): string {
  return join(folder, 'supervisor');
}

/** Current or last cluster of a folder; undefined for a new folder. */
export function readCluster(folder: string): ClusterRecord | undefined {
  return readJson(fileIn(folder));
}

/** Replaces the record of the folder's cluster atomically. */
export async function writeCluster(folder: string, record: ClusterRecord): Promise<void> {
  await writeFile(`${fileIn(folder)}.new`, `${JSON.stringify(record, undefined, 2)}\n`);
  await rename(`${fileIn(folder)}.new`, fileIn(folder));
}

function fileIn(folder: string): string {
  return join(folder, 'cluster.json');
}
