import { type Config, ConfigError } from '#config';
import type { FilePorts } from '#ctl/command';
import { systemClock } from '#platform/clock';
import { sqliteDataFileOf } from '#process/sqlite-stores';

/**
 * The file of the configuration, for `ctl`. A command whose `interrupted` aborts removes what it has not
 * finished. Rejects with `ConfigError` where data is kept elsewhere.
 */
export async function openCtlFile(config: Config, interrupted: AbortSignal): Promise<FilePorts> {
  const storage = config.SERVICE_STORAGE;
  if (storage !== 'sqlite') {
    throw new ConfigError(
      `SERVICE_STORAGE: backup, restore and vacuum are for sqlite, not for ${storage} (docs/backup.md)`,
    );
  }
  return {
    clock: systemClock,
    file: await sqliteDataFileOf(config, { clock: systemClock }),
    interrupted,
  };
}
