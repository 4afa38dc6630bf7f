import { cassandraShardStore } from '#storage/cassandra/shards';
import { keyspaceOfFile } from '#test/storage/keyspace-of-file';
import { changeSchema } from '#test/storage/scratch-keyspace';
import { shardStoreContract } from '#test/storage/shard-store-contract';
import { cassandraOrSkip } from '#test/support/real-servers';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

async function open() {
  const { session } = await keyspace.opened();
  await changeSchema(session, 'TRUNCATE shards');
  await changeSchema(session, 'TRUNCATE cluster_facts');
  return cassandraShardStore(session);
}

for (const part of shardStoreContract({ name: 'Cassandra', open, suite })) part.run();
keyspace.closing(suite).run();
