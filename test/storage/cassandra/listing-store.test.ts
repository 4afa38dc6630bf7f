import { cassandraListingStore } from '#storage/cassandra/listings';
import type { PagedListings } from '#storage/ports/listings';
import { listingStoreContract } from '#test/storage/contracts/listing-store';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

/** Number of random orders of writes to test, each with ten writes and a read of 64 partitions. */
const RUNS = 25;

/** Opens a store that has no listings, because its ids get a unique prefix. */
async function open(): Promise<PagedListings> {
  const { store, prefix } = await keyspace.emptyStore(cassandraListingStore);
  return {
    put: (accountId, row) => store.put(prefix + accountId, row),
    remove: (accountId, id, version) => store.remove(prefix + accountId, id, version),
    listed: (accountId, bytesMax) => store.listed(prefix + accountId, bytesMax),
    find: (accountId, instanceId) => store.find(prefix + accountId, instanceId),
    pages: (accountId) => store.pages(prefix + accountId),
    load: (accountId) => store.load(prefix + accountId),
  };
}

for (const part of listingStoreContract('Cassandra', open, RUNS, suite)) part.run();
keyspace.closing(suite).run();
