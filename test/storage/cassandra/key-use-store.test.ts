import { cassandraKeyUseStore } from '#storage/cassandra/account-rows';
import type { KeyUseStore } from '#storage/ports/accounts';
import { keyUseStoreContract } from '#test/storage/contracts/key-use-store';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

/** Opens a store that has no recorded uses, because its ids get a unique prefix. */
async function open(): Promise<KeyUseStore> {
  const { store, prefix } = await keyspace.emptyStore(cassandraKeyUseStore);
  return {
    note: (accountId, use) => store.note(prefix + accountId, use),
    find: (accountId) => store.find(prefix + accountId),
    erase: (accountId) => store.erase(prefix + accountId),
  };
}

keyUseStoreContract('Cassandra', open, suite).run();
keyspace.closing(suite).run();
