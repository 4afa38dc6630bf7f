import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterSize } from '#deploy/local/cluster-plan';
import { readJson } from '#deploy/local/processes/json-file';

/** Record of a supervisor about its running cluster. */
export type ClusterRecord = {
  readonly size: ClusterSize;
  /** Whether every shard has been served at least once since the start. */
  readonly isReady: boolean;
  /** Number of restarts after unexpected ends, by process. */
  readonly restarts: Readonly<Record<string, number>>;
};

/** Folder for the supervisor's own record. */
export function supervisorFolder(folder: string): string {
  return join(folder, 'supervisor');
}

/** The present or last cluster of a folder; undefined if there was none. */
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
