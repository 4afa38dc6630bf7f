import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, ConfigError } from '#config';
import { CtlError, type Place, type StorePlaces } from '#ctl/command';
import { ctlConfig } from '#startup/ctl-config';
import { type Foundation, foundationOf } from '#startup/process/dependencies';
import type { SharedStores } from '#startup/stores/store-set';

/**
 * Stores named in `ctl` commands: keyspaces of the configured Cassandra, and files, which stay
 * locked while open. Throws `ConfigError` if production refuses the configuration.
 */
export function storePlaces(config: Config): StorePlaces {
  const lenient = ctlConfig(config);
  const foundation = foundationOf(lenient, 'ctl');
  const nameOf = (place: Place): string =>
    place.kind === 'cassandra'
      ? `cassandra:${place.keyspace ?? config.SERVICE_CASSANDRA_KEYSPACE}`
      : `sqlite:${resolve(place.file)}`;
  const named = async (place: Place, secret?: string) => {
    return { ...(await opened(place, lenient, foundation, secret)), name: nameOf(place) };
  };
  return {
    clock: foundation.clock,
    nameOf,
    async openSource(place) {
      if (place.kind === 'sqlite' && !existsSync(place.file)) {
        throw new CtlError(`${place.file} does not exist`);
      }
      return await named(place);
    },
    openTarget: (place, secret = config.SERVICE_CLUSTER_SECRET?.[0]) => named(place, secret),
  };
}

async function opened(
  place: Place,
  config: Config,
  foundation: Foundation,
  secret: string | undefined,
): Promise<SharedStores & AsyncDisposable> {
  switch (place.kind) {
    case 'cassandra': {
      const { cassandraStores } = await import('#startup/stores/cassandra');
      const { keyspace = config.SERVICE_CASSANDRA_KEYSPACE } = place;
      return await cassandraStores({ ...config, SERVICE_CASSANDRA_KEYSPACE: keyspace }, foundation);
    }
    case 'sqlite': {
      const { heldFileStores } = await import('#startup/stores/sqlite');
      const named = { ...config, SERVICE_SQLITE_FILE: resolve(place.file) };
      return await heldFileStores(named, foundation, secret).catch(withoutVariable);
    }
  }
}

/** Removes the variable's name from the error, because the command line named the file. */
function withoutVariable(error: unknown): never {
  if (!(error instanceof ConfigError)) throw error;
  throw new CtlError(error.message.replace(/^SERVICE_SQLITE_FILE: /, ''), { cause: error });
}
