import { resolve } from 'node:path';

/** Folders for archived commit-log segments, and for segments to replay. */
export type CassandraArchiving = {
  readonly archive: string;
  /** Folder of segments that are replayed at the start; undefined: none. */
  readonly restore?: string | undefined;
};

/** Name of the file that Cassandra looks up in its class path. */
export const ARCHIVING_FILE = 'commitlog_archiving.properties';

/**
 * Content of the archiving file. Sets no restore time, because timestamps of mutations are
 * versions.
 */
export function archivingProperties({ archive, restore }: CassandraArchiving): string {
  const script = resolve('deploy/backup/archive-segment.sh');
  const lines = [`archive_command=/bin/sh ${script} %path %name ${resolve(archive)}`];
  if (restore !== undefined) {
    lines.push('restore_command=/bin/cp -f %from %to', `restore_directories=${resolve(restore)}`);
  }
  return `${lines.join('\n')}\n`;
}
