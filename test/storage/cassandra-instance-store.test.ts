import { cassandraInstanceStore } from '#storage/cassandra/instances';
import type { InstanceStore } from '#storage/ports/instances';
import { instanceStoreContract } from '#test/storage/instance-store-contract';
import { keyspaceOfFile } from '#test/storage/keyspace-of-file';
import { ONE_BUCKET } from '#test/storage/migrated-keyspace';
import { pagedInstancesContract } from '#test/storage/paged-instances-contract';
import { cassandraOrSkip } from '#test/support/real-servers';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

/** A store of unused instances. */
async function open(): Promise<InstanceStore> {
  const { store, prefix } = await keyspace.emptyStore((session) =>
    cassandraInstanceStore(session, ONE_BUCKET),
  );
  return {
    readHead: (id) => store.readHead(prefix + id),
    bucketOf: (id) => store.bucketOf(prefix + id),
    async readHeads(ids) {
      const heads = await store.readHeads(ids.map((id) => prefix + id));
      return new Map([...heads].map(([id, head]) => [id.slice(prefix.length), head]));
    },
    checkpoint: (checkpoints) =>
      store.checkpoint(checkpoints.map((one) => ({ ...one, instanceId: prefix + one.instanceId }))),
    storeAnswers: (parts) =>
      store.storeAnswers(parts.map((one) => ({ ...one, instanceId: prefix + one.instanceId }))),
    readHistory: (id, newest, count) => store.readHistory(prefix + id, newest, count),
    readDrift: (id, newest, count) => store.readDrift(prefix + id, newest, count),
    findAnswer: (id, key, oldestMs) => store.findAnswer(prefix + id, key, oldestMs),
    findAnswers: (id, keys, oldestMs) => store.findAnswers(prefix + id, keys, oldestMs),
  };
}

for (const part of instanceStoreContract('Cassandra', open, suite)) part.run();
const openPaged = () =>
  keyspace.emptyStore((session) => cassandraInstanceStore(session, ONE_BUCKET));
pagedInstancesContract('Cassandra', openPaged, suite).run();
keyspace.closing(suite).run();
