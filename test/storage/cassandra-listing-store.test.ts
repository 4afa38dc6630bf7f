import { cassandraListingStore } from '#storage/cassandra/cassandra-listing-store';
import type { ListingStore } from '#storage/listing-store';
import { listingStoreContract } from '#test/storage/listing-store-contract';
import { newPrefix, openMigratedKeyspace } from '#test/storage/migrated-keyspace';
import { cassandraOrSkip } from '#test/support/real-servers';

const { address, suite } = cassandraOrSkip();

/** Orders tried: each takes some ten writes and a read of 64 partitions. */
const RUNS = 25;

let opened: ReturnType<typeof openMigratedKeyspace> | undefined;

/** A store of accounts that no test has listed before. */
async function open(): Promise<ListingStore> {
  opened ??= openMigratedKeyspace(address);
  const store = cassandraListingStore((await opened).session);
  const prefix = newPrefix();
  return {
    put: (accountId, row) => store.put(prefix + accountId, row),
    remove: (accountId, id, version) => store.remove(prefix + accountId, id, version),
    listed: (accountId, bytesMax) => store.listed(prefix + accountId, bytesMax),
    find: (accountId, instanceId) => store.find(prefix + accountId, instanceId),
    load: (accountId) => store.load(prefix + accountId),
  };
}

const closing = suite('a keyspace of listings');
closing('is taken away', async () => {
  await (await opened)?.[Symbol.asyncDispose]();
});

for (const part of listingStoreContract('Cassandra', open, RUNS, suite)) part.run();
closing.run();
