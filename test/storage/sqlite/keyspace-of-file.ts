import type { suite as plainSuite, Test } from 'uvu';
import type { CassandraSession } from '#storage/cassandra/session';
import {
  type MigratedKeyspace,
  newPrefix,
  openMigratedKeyspace,
} from '#test/storage/cassandra/migrated-keyspace';

/** A keyspace with all tables for the suites of one file, created on first use. */
export function keyspaceOfFile(address: string) {
  let opened: Promise<MigratedKeyspace> | undefined;
  const whenOpened = (): Promise<MigratedKeyspace> => {
    opened ??= openMigratedKeyspace(address);
    return opened;
  };
  return {
    opened: whenOpened,
    /** A store in the keyspace, and an unused id prefix. */
    async emptyStore<Store>(make: (session: CassandraSession) => Store) {
      return { store: make((await whenOpened()).session), prefix: newPrefix() };
    },
    /** Last suite of the file. Drops the keyspace. */
    closing(suite: typeof plainSuite): Test {
      const closing = suite('the keyspace of these suites');
      closing('is dropped', async () => {
        await (await opened)?.[Symbol.asyncDispose]();
      });
      return closing;
    },
  };
}
