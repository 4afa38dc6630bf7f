import type { Account } from '#accounts/account';
import type { AccountStore } from '#storage/account-store';
import { cassandraAccountStore } from '#storage/cassandra/cassandra-account-store';
import { accountStoreContract } from '#test/storage/account-store-contract';
import { newPrefix, openMigratedKeyspace } from '#test/storage/migrated-keyspace';
import { cassandraOrSkip } from '#test/support/real-servers';

const { address, suite } = cassandraOrSkip();

let opened: ReturnType<typeof openMigratedKeyspace> | undefined;

/** A store of accounts that nobody has created before; their ids begin with a text of its own. */
async function open(): Promise<AccountStore> {
  opened ??= openMigratedKeyspace(address);
  const store = cassandraAccountStore((await opened).session);
  const prefix = newPrefix();
  const stripped = (account: Account) => ({ ...account, id: account.id.slice(prefix.length) });
  return {
    create: (account) => store.create({ ...account, id: prefix + account.id }),
    async find(id) {
      const found = await store.find(prefix + id);
      return found && { ...found, account: stripped(found.account) };
    },
    async list({ afterId = '', limit }) {
      const page = await store.list({ afterId: prefix + afterId, limit });
      return page.filter(({ id }) => id.startsWith(prefix)).map(stripped);
    },
    setPlan: async (id, plan, limits) => stripped(await store.setPlan(prefix + id, plan, limits)),
    setStatus: async (id, status) => stripped(await store.setStatus(prefix + id, status)),
    addKey: (id, key) => store.addKey(prefix + id, key),
    revokeKey: (id, keyId, atMs) => store.revokeKey(prefix + id, keyId, atMs),
  };
}

const closing = suite('a keyspace of accounts');
closing('is taken away', async () => {
  await (await opened)?.[Symbol.asyncDispose]();
});

for (const part of accountStoreContract('Cassandra', open, suite)) part.run();
closing.run();
