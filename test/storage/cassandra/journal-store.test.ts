import { randomBytes } from 'node:crypto';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { systemClock } from '#stdlib/clock';
import { cassandraJournalStore } from '#storage/cassandra/journals';
import type { CassandraSession } from '#storage/cassandra/session';
import { openFaultyLink } from '#test/storage/cassandra/faulty-link';
import { openMigratedKeyspace, sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import {
  ADDRESS,
  APPLIED,
  appendMany,
  appendOf,
  begun,
  listed,
  newIncarnation,
  slotsOf,
} from '#test/storage/contracts/journal-fixture';
import { journalStoreContract } from '#test/storage/contracts/journal-store';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();

let opened: ReturnType<typeof openMigratedKeyspace> | undefined;

function keyspaceOf() {
  opened ??= openMigratedKeyspace(address);
  return opened;
}

/** Small pages, to test paging without thousands of slots. */
const PAGE_SLOTS = 32;

const open = async () => cassandraJournalStore((await keyspaceOf()).session, PAGE_SLOTS);

/** Timeout of an append in milliseconds. Source: `STATEMENT_MS_MAX` of `session.ts`. */
const APPEND_MS_MAX = 2_000;
/** Extra milliseconds for a busy machine. */
const SCHEDULING_MS_MAX = 1_500;

const contract = journalStoreContract({ name: 'Cassandra', open, runs: 25, suite });

const partition = suite('a journal as a partition of Cassandra');

partition('rejects a group larger than any server accepts, without effect', async () => {
  const { store, incarnation } = await begun(open);
  const records = new Uint8Array(5 * 1_024 * 1_024);
  const fault = await faultOf(store.append(appendOf(incarnation, 0, records)));
  assert.is(fault.code, 'internal');
  assert.is(fault.isOutcomeUnknown, false);
  assert.is((await store.readHead(incarnation, 'serial'))?.next, 0);
});

partition('stores only the given part of a larger buffer', async () => {
  const { store, incarnation } = await begun(open);
  const whole = new Uint8Array(randomBytes(64));
  const records = whole.subarray(10, 20);
  await store.append(appendOf(incarnation, 0, records));
  const expected = [{ slot: 0, records: whole.slice(10, 20) }];
  assert.equal(await store.readSlots(incarnation, 0, 1), expected);
});

partition('has no head without an entry, even with slots', async () => {
  const store = await open();
  const incarnation = newIncarnation();
  await store.append(appendOf(incarnation, 7));
  assert.is(await store.readHead(incarnation, 'serial'), undefined);
  assert.is(await store.readHead(incarnation, 'quorum'), undefined);
  assert.equal(await store.seal(incarnation), { isApplied: false, head: undefined });
});

partition(
  'is ended by the next sealer if the first sealer crashed before it stored the end',
  async () => {
    const { session } = await keyspaceOf();
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 3);
    const seal = 'INSERT INTO seals (incarnation, is_sealed) VALUES (?, true) USING TIMESTAMP 1';
    await session.execute(seal, [incarnation], { kind: 'write', operation: 'test' });
    assert.ok(await store.isSealed(incarnation));
    assert.equal(await listed(store, incarnation), { incarnation, sealedAtMs: undefined });
    await store.empty(incarnation);
    assert.is(
      (await slotsOf(store, incarnation)).length,
      3,
      'the journal has no end, so nothing is emptied',
    );
    assert.equal(await store.seal(incarnation), APPLIED);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 3);
  },
);

const lost = suite('a journal with lost answers');

lost('reports an unknown outcome within the timeout, although the write was applied', async () => {
  const { store, incarnation } = await begun(open);
  await using link = await openFaultyLink(address);
  await using session = await sessionIn(link.address, (await keyspaceOf()).name);
  const silenced = cassandraJournalStore(session);
  await silenced.append(appendOf(incarnation, 0));
  link.silence();
  const startedMs = systemClock.monotonicMs();
  const fault = await faultOf(silenced.append(appendOf(incarnation, 1)));
  const tookMs = systemClock.monotonicMs() - startedMs;
  assert.is(fault.code, 'service_unavailable');
  assert.ok(fault.isOutcomeUnknown);
  assert.ok(tookMs < APPEND_MS_MAX + SCHEDULING_MS_MAX, `${tookMs} ms`);
  assert.is((await store.readHead(incarnation, 'serial'))?.next, 2);
});

lost('reports an unknown outcome if the head cannot be read after a refused write', async () => {
  const { incarnation } = await begun(open);
  const { session } = await keyspaceOf();
  const refusing = cassandraJournalStore(withoutReads(session));
  const fault = await faultOf(refusing.begin(incarnation, ADDRESS));
  assert.is(fault.code, 'service_unavailable');
  assert.ok(fault.isOutcomeUnknown);
});

lost('reports an unknown outcome if the connection breaks during the call', async () => {
  const { incarnation } = await begun(open);
  await using link = await openFaultyLink(address);
  await using session = await sessionIn(link.address, (await keyspaceOf()).name);
  const store = cassandraJournalStore(session);
  await store.append(appendOf(incarnation, 0));
  link.silence();
  const broken = faultOf(store.append(appendOf(incarnation, 1)));
  await new Promise((resolve) => setImmediate(resolve));
  link.cut();
  const fault = await broken;
  assert.is(fault.code, 'service_unavailable');
  assert.ok(fault.isOutcomeUnknown);
});

lost.after(async () => (await opened)?.[Symbol.asyncDispose]());

for (const part of contract) part.run();
partition.run();
lost.run();

async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Fault)) throw new Error('no fault was thrown', { cause: error });
  return error;
}

/** A session that executes conditional writes, and fails all reads with `service_unavailable`. */
function withoutReads(session: CassandraSession): CassandraSession {
  const execute: CassandraSession['execute'] = async (query, params, options) => {
    if (options.kind === 'conditional') return session.execute(query, params, options);
    throw new Fault('service_unavailable', 'the store gives no answer');
  };
  return Object.assign(Object.create(session), { execute });
}
