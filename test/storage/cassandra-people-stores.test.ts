import {
  cassandraMemberStore,
  cassandraSessionStore,
  cassandraUserStore,
} from '#storage/cassandra/people';
import { keyspaceOfFile } from '#test/storage/keyspace-of-file';
import { memberStoreContract } from '#test/storage/member-store-contract';
import { sessionStoreContract } from '#test/storage/session-store-contract';
import { userStoreContract } from '#test/storage/user-store-contract';
import { cassandraOrSkip } from '#test/support/real-servers';

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
