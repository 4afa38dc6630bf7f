import * as assert from 'uvu/assert';
import { cassandraMeterStore } from '#storage/cassandra/meters';
import type { ErasableMeters } from '#storage/ports/meters';
import { openFaultyLink } from '#test/storage/cassandra/faulty-link';
import { ONE_BUCKET, sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import { meterAt } from '#test/storage/contracts/meter-records';
import { meterStoreContract } from '#test/storage/contracts/meter-store';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { faultIn } from '#test/support/settled';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

/** Number of random orders of writes to test, each with about five writes and reads. */
const RUNS = 25;

/** Opens a store that has no meters, because its ids get a unique prefix. */
async function open(): Promise<ErasableMeters> {
  const { store, prefix } = await keyspace.emptyStore((session) =>
    cassandraMeterStore(session, ONE_BUCKET),
  );
  return {
    erase: (accountId) => store.erase(prefix + accountId),
    readHead: (accountId) => store.readHead(prefix + accountId),
    readMonths: (accountId) => store.readMonths(prefix + accountId),
    bucketOf: (accountId) => store.bucketOf(prefix + accountId),
    checkpoint: (checkpoints) =>
      store.checkpoint(
        checkpoints.map(({ accountId, head }) => ({ accountId: prefix + accountId, head })),
      ),
  };
}

const cut = suite('meters in an unreachable Cassandra');

cut('are neither read nor stored: every call fails with service_unavailable', async () => {
  await using link = await openFaultyLink(address);
  await using session = await sessionIn(link.address, (await keyspace.opened()).name);
  const store = cassandraMeterStore(session, ONE_BUCKET);
  await store.checkpoint([{ accountId: 'cut', head: meterAt(1) }]);
  link.setOpen(false);
  link.cut();
  assert.is((await faultIn(store.readHead('cut'))).code, 'service_unavailable');
  const checkpoint = store.checkpoint([{ accountId: 'cut', head: meterAt(2) }]);
  assert.is((await faultIn(checkpoint)).code, 'service_unavailable');
});

for (const part of [meterStoreContract('Cassandra', open, RUNS, suite), cut]) part.run();
keyspace.closing(suite).run();
