import { cassandraShardStore } from '#storage/cassandra/shards';
import { changeSchema } from '#test/storage/cassandra/scratch-keyspace';
import { shardStoreContract } from '#test/storage/contracts/shard-store';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

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
