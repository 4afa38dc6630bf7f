import * as assert from 'uvu/assert';
import { Fault } from '#fault/fault';
import { cassandraMeterStore } from '#storage/cassandra/cassandra-meter-store';
import type { MeterStore } from '#storage/meter-store';
import { openFaultyLink } from '#test/storage/faulty-link';
import { meterAt } from '#test/storage/meter-records';
import { meterStoreContract } from '#test/storage/meter-store-contract';
import {
  newPrefix,
  ONE_BUCKET,
  openMigratedKeyspace,
  sessionIn,
} from '#test/storage/migrated-keyspace';
import { cassandraOrSkip } from '#test/support/real-servers';

const { address, suite } = cassandraOrSkip();

/** Orders tried: each takes some five writes and reads. */
const RUNS = 25;

let opened: ReturnType<typeof openMigratedKeyspace> | undefined;

/** A store of meters that no test has stored before. */
async function open(): Promise<MeterStore> {
  opened ??= openMigratedKeyspace(address);
  const store = cassandraMeterStore((await opened).session, ONE_BUCKET);
  const prefix = newPrefix();
  return {
    readHead: (accountId) => store.readHead(prefix + accountId),
    bucketOf: (accountId) => store.bucketOf(prefix + accountId),
    checkpoint: (checkpoints) =>
      store.checkpoint(
        checkpoints.map(({ accountId, head }) => ({ accountId: prefix + accountId, head })),
      ),
  };
}

const cut = suite('meters in Cassandra when it cannot be reached');

cut('are neither read nor stored: the service is unavailable', async () => {
  opened ??= openMigratedKeyspace(address);
  await using link = await openFaultyLink(address);
  await using session = await sessionIn(link.address, (await opened).name);
  const store = cassandraMeterStore(session, ONE_BUCKET);
  await store.checkpoint([{ accountId: 'cut', head: meterAt(1) }]);
  link.setOpen(false);
  link.cut();
  assert.is(await codeOf(store.readHead('cut')), 'service_unavailable');
  assert.is(
    await codeOf(store.checkpoint([{ accountId: 'cut', head: meterAt(2) }])),
    'service_unavailable',
  );
});

cut.after(async () => (await opened)?.[Symbol.asyncDispose]());

for (const part of [meterStoreContract('Cassandra', open, RUNS, suite), cut]) part.run();

async function codeOf(pending: Promise<unknown>): Promise<string> {
  const error = await pending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Fault)) throw new Error('there was no fault', { cause: error });
  return error.code;
}
