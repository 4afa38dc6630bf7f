import { resolve } from 'node:path';

/** Folders of commit log segments for Cassandra's archiving file. */
export type CassandraArchiving = {
  /** Folder for archived segments. */
  readonly archive: string;
  /** Folder of segments to replay at the start; undefined for no replay. */
  readonly restore?: string | undefined;
};

/** Name of the file, which Cassandra looks up in its class path. */
export const ARCHIVING_FILE = 'commitlog_archiving.properties';

/**
 * Content of the archiving file. Sets no restore time, because the service uses versions as
 * mutation timestamps.
 */
export function archivingProperties({ archive, restore }: CassandraArchiving): string {
  const script = resolve('deploy/backup/archive-segment.sh');
  const lines = [`archive_command=/bin/sh ${script} %path %name ${resolve(archive)}`];
  if (restore !== undefined) {
    lines.push('restore_command=/bin/cp -f %from %to', `restore_directories=${resolve(restore)}`);
  }
  return `${lines.join('\n')}\n`;
}
