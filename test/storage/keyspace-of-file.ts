import type { suite as plainSuite, Test } from 'uvu';
import type { CassandraSession } from '#storage/cassandra/session';
import {
  type MigratedKeyspace,
  newPrefix,
  openMigratedKeyspace,
} from '#test/storage/migrated-keyspace';

/** A keyspace with all tables that the suites of one file share, made when it is first needed. */
export function keyspaceOfFile(address: string) {
  let opened: Promise<MigratedKeyspace> | undefined;
  const whenOpened = (): Promise<MigratedKeyspace> => {
    opened ??= openMigratedKeyspace(address);
    return opened;
  };
  return {
    opened: whenOpened,
    /** A store in it, and a prefix: of ids that begin so the store has nothing yet. */
    async emptyStore<Store>(make: (session: CassandraSession) => Store) {
      return { store: make((await whenOpened()).session), prefix: newPrefix() };
    },
    /** The suite to be run last: it takes the keyspace away. */
    closing(suite: typeof plainSuite): Test {
      const closing = suite('the keyspace of these suites');
      closing('is taken away', async () => {
        await (await opened)?.[Symbol.asyncDispose]();
      });
      return closing;
    },
  };
}
