import { resolve } from 'node:path';

/** Where a Cassandra keeps the segments of its commit log that are closed, and what it replays first. */
export type CassandraArchiving = {
  readonly archive: string;
  /** Segments that are replayed at the start; none without it. */
  readonly restore?: string | undefined;
};

/** The file that Cassandra looks for in its class path. */
export const ARCHIVING_FILE = 'commitlog_archiving.properties';

/** Its content. No moment is named: mutations have versions for timestamps. */
export function archivingProperties({ archive, restore }: CassandraArchiving): string {
  const script = resolve('deploy/backup/archive-segment.sh');
  const lines = [`archive_command=/bin/sh ${script} %path %name ${resolve(archive)}`];
  if (restore !== undefined) {
    lines.push('restore_command=/bin/cp -f %from %to', `restore_directories=${resolve(restore)}`);
  }
  return `${lines.join('\n')}\n`;
}
