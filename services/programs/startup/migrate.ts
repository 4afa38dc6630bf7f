import { type Config, ConfigError } from '#config';
import { foundationOf } from '#startup/process/dependencies';
import { migrateStores } from '#startup/stores/cassandra';
import { STANDARD_ERROR, STANDARD_OUTPUT } from '#telemetry/logger';

/**
 * Creates or migrates the tables of the configured keyspace. Idempotent. Fulfils with the exit
 * code: 1, with one line on standard error, if the servers or tables prevent the migration. Rejects
 * with `ConfigError` if the storage needs no migration. Separate, because the executable loads
 * each command on demand.
 */
export async function migrateAll(config: Config): Promise<number> {
  if (config.SERVICE_STORAGE === 'sqlite') {
    throw new ConfigError(
      'SERVICE_STORAGE: migrate is for cassandra; a process updates the schema of its file at start',
    );
  }
  const report = (text: string) => STANDARD_OUTPUT.write(`${text}\n`);
  try {
    await migrateStores(config, foundationOf(config, 'migrate'), report);
    return 0;
  } catch (error) {
    STANDARD_ERROR.write(`${(error as Error).message.split('\n')[0]}\n`);
    return 1;
  }
}
