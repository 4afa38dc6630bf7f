import { cassandraInstanceStore } from '#storage/cassandra/instances';
import type { InstanceStore } from '#storage/ports/instances';
import { ONE_BUCKET } from '#test/storage/cassandra/migrated-keyspace';
import { instanceStoreContract } from '#test/storage/contracts/instance-store';
import { pagedInstancesContract } from '#test/storage/contracts/paged-instances';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

/** Opens a store that has no instances, because its ids get a unique prefix. */
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
    readStates: (id, range) => store.readStates(prefix + id, range),
    findStates: (id, generation, cycles) => store.findStates(prefix + id, generation, cycles),
    findAnswer: (id, key, oldestMs) => store.findAnswer(prefix + id, key, oldestMs),
    findAnswers: (id, keys, oldestMs) => store.findAnswers(prefix + id, keys, oldestMs),
    answerPages: (ids) => store.answerPages(ids.map((id) => prefix + id)),
  };
}

for (const part of instanceStoreContract('Cassandra', open, suite)) part.run();
const openPaged = () =>
  keyspace.emptyStore((session) => cassandraInstanceStore(session, ONE_BUCKET));
pagedInstancesContract('Cassandra', openPaged, suite).run();
keyspace.closing(suite).run();
