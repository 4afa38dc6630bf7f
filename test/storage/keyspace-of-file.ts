import type { suite as plainSuite, Test } from 'uvu';
import { type MigratedKeyspace, openMigratedKeyspace } from '#test/storage/migrated-keyspace';

/** A keyspace with all tables that the suites of one file share, made when it is first needed. */
export function keyspaceOfFile(address: string) {
  let opened: Promise<MigratedKeyspace> | undefined;
  return {
    opened(): Promise<MigratedKeyspace> {
      opened ??= openMigratedKeyspace(address);
      return opened;
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
