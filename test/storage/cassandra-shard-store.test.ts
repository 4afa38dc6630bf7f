import { cassandraShardStore } from '#storage/cassandra/cassandra-shard-store';
import { openMigratedKeyspace } from '#test/storage/migrated-keyspace';
import { changeSchema } from '#test/storage/scratch-keyspace';
import { shardStoreContract } from '#test/storage/shard-store-contract';
import { cassandraOrSkip } from '#test/support/real-servers';

const { address, suite } = cassandraOrSkip();

let opened: ReturnType<typeof openMigratedKeyspace> | undefined;

async function open() {
  opened ??= openMigratedKeyspace(address);
  const { session } = await opened;
  await changeSchema(session, 'TRUNCATE shards');
  await changeSchema(session, 'TRUNCATE cluster_facts');
  return cassandraShardStore(session);
}

const contract = shardStoreContract({ name: 'Cassandra', open, suite });

contract.at(-1)?.after(async () => (await opened)?.[Symbol.asyncDispose]());

for (const part of contract) part.run();
