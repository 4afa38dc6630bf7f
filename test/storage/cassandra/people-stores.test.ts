import {
  cassandraMemberStore,
  cassandraSessionStore,
  cassandraUserStore,
} from '#storage/cassandra/people';
import { memberStoreContract } from '#test/storage/contracts/member-store';
import { sessionStoreContract } from '#test/storage/contracts/session-store';
import { userStoreContract } from '#test/storage/contracts/user-store';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

const contract = [
  userStoreContract('Cassandra', () => keyspace.emptyStore(cassandraUserStore), suite),
  sessionStoreContract(
    'Cassandra',
    async () => ({ ...(await keyspace.emptyStore(cassandraSessionStore)), nowMs: 1_000_000 }),
    suite,
  ),
  ...memberStoreContract('Cassandra', () => keyspace.emptyStore(cassandraMemberStore), suite),
  keyspace.closing(suite),
];

for (const part of contract) part.run();
