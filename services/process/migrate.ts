import { type Config, ConfigError } from '#config';
import { STANDARD_ERROR, STANDARD_OUTPUT } from '#platform/logger';
import { migrateStores } from '#process/cassandra-stores';
import { foundationOf } from '#process/foundation';

/**
 * Makes the tables of the configured keyspace, or brings them up to date; may be repeated. Fulfils
 * with the exit code: 1 with one line on standard error when the servers or the tables do not let
 * it. Rejects with `ConfigError` where there is nothing to migrate.
 */
export async function migrateAll(config: Config): Promise<number> {
  if (config.SERVICE_STORAGE === 'sqlite') {
    throw new ConfigError(
      'SERVICE_STORAGE: a file of sqlite is brought up to date when it is served',
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
