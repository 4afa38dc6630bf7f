import { cassandraInstanceStore } from '#storage/cassandra/cassandra-instance-store';
import type { CassandraSession } from '#storage/cassandra/session';
import type { InstanceStore } from '#storage/instance-store';
import { instanceStoreContract } from '#test/storage/instance-store-contract';
import { newPrefix, openMigratedKeyspace } from '#test/storage/migrated-keyspace';
import { cassandraOrSkip } from '#test/support/real-servers';

const { address, suite } = cassandraOrSkip();

let opened: ReturnType<typeof openMigratedKeyspace> | undefined;

async function sessionOf(): Promise<CassandraSession> {
  opened ??= openMigratedKeyspace(address);
  return (await opened).session;
}

/** A store of instances that no test has stored before. */
async function open(): Promise<InstanceStore> {
  const store = cassandraInstanceStore(await sessionOf());
  const prefix = newPrefix();
  return {
    readHead: (id) => store.readHead(prefix + id),
    checkpoint: (id, checkpoint) => store.checkpoint(prefix + id, checkpoint),
    readHistory: (id, newest, count) => store.readHistory(prefix + id, newest, count),
    readDrift: (id, newest, count) => store.readDrift(prefix + id, newest, count),
    findAnswer: (id, key, oldestMs) => store.findAnswer(prefix + id, key, oldestMs),
  };
}

const closing = suite('a keyspace of instances');
closing('is taken away', async () => {
  await (await opened)?.[Symbol.asyncDispose]();
});

for (const part of instanceStoreContract('Cassandra', open, suite)) part.run();
closing.run();
