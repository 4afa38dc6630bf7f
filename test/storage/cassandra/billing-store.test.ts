import { cassandraBillingStore } from '#storage/cassandra/billing';
import type { BillingRecord, BillingStore, StoredBilling } from '#storage/ports/billing';
import { billingStoreContract } from '#test/storage/contracts/billing-store';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

/** Opens a store that has no records, because its ids get a unique prefix. */
async function open(): Promise<BillingStore> {
  const { store, prefix } = await keyspace.emptyStore(cassandraBillingStore);
  const named = (record: BillingRecord, name: (id: string) => string): BillingRecord => ({
    ...record,
    customers: record.customers.map(({ id, atMs }) => ({ id: name(id), atMs })),
  });
  const stripped = ({ record, revision }: StoredBilling): StoredBilling => ({
    record: named(record, (id) => id.slice(prefix.length)),
    revision,
  });
  return {
    async find(id) {
      const found = await store.find(prefix + id);
      return found && stripped(found);
    },
    accountOf: async (id) => (await store.accountOf(prefix + id))?.slice(prefix.length),
    put: (id, revision, record) =>
      store.put(
        prefix + id,
        revision,
        named(record, (customerId) => prefix + customerId),
      ),
    erase: (id) => store.erase(prefix + id),
  };
}

billingStoreContract('Cassandra', open, suite).run();
keyspace.closing(suite).run();
