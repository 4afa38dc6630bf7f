import * as assert from 'uvu/assert';
import { cassandraInstanceStore } from '#storage/cassandra/instances';
import { cassandraListingStore } from '#storage/cassandra/listings';
import { cassandraMeterStore } from '#storage/cassandra/meters';
import type { CassandraSession } from '#storage/cassandra/session';
import { CorruptState } from '#storage/ports/bytes';
import {
  newPrefix,
  ONE_BUCKET,
  openMigratedKeyspace,
} from '#test/storage/cassandra/migrated-keyspace';
import { meterAt } from '#test/storage/contracts/meter-records';
import {
  answerRow,
  driftChunks,
  headAt,
  historyChunks,
  markerAt,
  storeOne,
} from '#test/storage/contracts/rows';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();

/** Range of the remaining seconds soon after a write with a TTL of 40 days. */
const FORTY_DAYS = [40 * 86_400 - 600, 40 * 86_400] as const;

let opened: ReturnType<typeof openMigratedKeyspace> | undefined;
const sent: string[] = [];

async function sessionOf(): Promise<CassandraSession> {
  opened ??= openMigratedKeyspace(address, (operation) => void sent.push(operation));
  return (await opened).session;
}

async function rowsOf(query: string, ...params: unknown[]) {
  const session = await sessionOf();
  return (await session.execute(query, params, { kind: 'read', operation: 'test_read' })).rows;
}

async function storesOf() {
  const session = await sessionOf();
  return {
    id: `${newPrefix()}inst`,
    instances: cassandraInstanceStore(session, ONE_BUCKET),
    listings: cassandraListingStore(session),
    meters: cassandraMeterStore(session, ONE_BUCKET),
    session,
  };
}

function full(version: number) {
  return {
    head: headAt(version),
    history: historyChunks(1, version),
    drift: driftChunks(1, version),
    answers: [answerRow('call:a', 5), answerRow('call:b', 6)],
  };
}

const stamps = suite('the rows written for an actor');

stamps('have the version of the actor as timestamp in every table and column', async () => {
  const { id, instances, listings, meters } = await storesOf();
  const chunks = { history: historyChunks(1, 70), drift: driftChunks(1, 70) };
  await storeOne(instances, id, { ...full(7), ...chunks });
  for (const table of ['history', 'drift'] as const) {
    const query = `SELECT WRITETIME(chunk) AS stamp FROM ${table} WHERE instance_id = ? AND bucket = 0`;
    assert.equal(await stampsOf(query, id), [7n, 7n, 7n], table);
  }
  const answers =
    'SELECT WRITETIME(answer) AS stamp FROM answers WHERE bucket = 7 AND instance_id = ?';
  assert.equal(await stampsOf(answers, id), [7n, 7n]);
  assert.equal(
    await stampsOf(
      'SELECT WRITETIME(state) AS stamp FROM heads WHERE bucket = 7 AND instance_id = ?',
      id,
    ),
    [7n],
  );
  const row = { instanceId: id, version: 4, name: 'n', description: 'd', createdAtMs: 1 };
  await listings.put(id, row);
  await listings.remove(id, 'inst_gone', 9);
  const columns = ['version', 'name', 'description', 'created_at_ms', 'is_removed'];
  for (const column of columns) {
    const query = `SELECT WRITETIME(${column}) AS stamp FROM listings WHERE account_id = ? ALLOW FILTERING`;
    assert.equal((await stampsOf(query, id)).toSorted(), [4n, 9n], column);
  }
  await meters.checkpoint([{ accountId: id, head: meterAt(6) }]);
  const meter = 'SELECT WRITETIME(state) AS stamp FROM meters WHERE bucket = 7 AND account_id = ?';
  assert.equal(await stampsOf(meter, id), [6n]);
});

stamps('have a TTL only for tombstones, removals and answers', async () => {
  const { id, instances, listings, meters } = await storesOf();
  await storeOne(instances, id, full(3));
  const head = 'SELECT TTL(state) AS ttl FROM heads WHERE bucket = 7 AND instance_id = ?';
  assert.is((await rowsOf(head, id))[0]?.['ttl'], null);
  const history = 'SELECT TTL(chunk) AS ttl FROM history WHERE instance_id = ? AND bucket = 0';
  assert.is((await rowsOf(history, id))[0]?.['ttl'], null);
  const answer = 'SELECT TTL(answer) AS ttl FROM answers WHERE bucket = 7 AND instance_id = ?';
  assertBetween((await rowsOf(answer, id))[0]?.['ttl'], 24 * 3_600, 25 * 3_600);
  await meters.checkpoint([{ accountId: id, head: meterAt(3) }]);
  const meter = 'SELECT TTL(state) AS ttl FROM meters WHERE bucket = 7 AND account_id = ?';
  assert.is((await rowsOf(meter, id))[0]?.['ttl'], null);
  await storeOne(instances, id, { ...full(4), head: markerAt(4) });
  assertBetween((await rowsOf(head, id))[0]?.['ttl'], ...FORTY_DAYS);
  await listings.remove(id, 'inst_gone', 9);
  const listing =
    'SELECT TTL(is_removed) AS ttl FROM listings WHERE account_id = ? ALLOW FILTERING';
  assertBetween((await rowsOf(listing, id))[0]?.['ttl'], ...FORTY_DAYS);
});

stamps('are sent in one batch per table, with the head last', async () => {
  const { id, instances } = await storesOf();
  sent.length = 0;
  await storeOne(instances, id, { ...full(1), head: headAt(100), history: historyChunks(1, 100) });
  assert.equal(sent.slice(0, -1).toSorted(), ['answers_write', 'drift_write', 'history_write']);
  assert.is(sent.at(-1), 'head_write');
});

stamps('include no head if the other rows could not be written', async () => {
  const { id, session } = await storesOf();
  const failing = {
    execute: session.execute.bind(session),
    batch: () => Promise.reject(new Error('no answer')),
  };
  const instances = cassandraInstanceStore(failing as unknown as CassandraSession, ONE_BUCKET);
  const failure = await storeOne(instances, id, full(2)).catch((error: Error) => error.message);
  assert.is(failure, 'no answer');
  assert.is(await instances.readHead(id), undefined);
});

const damage = suite('a damaged stored value');

damage('is rejected with an error that names the head, chunk, answer or meter', async () => {
  const { id, instances, meters, session } = await storesOf();
  await storeOne(instances, id, full(2));
  await meters.checkpoint([{ accountId: id, head: meterAt(2) }]);
  const write = async (query: string) => {
    const bytes = Buffer.from('damaged bytes');
    await session.execute(query, [bytes, id], { kind: 'write', operation: 'test_write' });
  };
  await write('UPDATE heads USING TIMESTAMP 3 SET state = ? WHERE bucket = 7 AND instance_id = ?');
  await write(
    'UPDATE history USING TIMESTAMP 3 SET chunk = ? WHERE instance_id = ? AND bucket = 0 AND last_ordinal = 2',
  );
  await write(
    `UPDATE answers USING TIMESTAMP 3 SET answer = ?
     WHERE bucket = 7 AND instance_id = ? AND answer_key = 'call:a'`,
  );
  await write('UPDATE meters USING TIMESTAMP 3 SET state = ? WHERE bucket = 7 AND account_id = ?');
  await corrupt(meters.readHead(id), `the meter of ${id}`);
  await corrupt(instances.readHead(id), `the head of ${id}`);
  await corrupt(instances.readHistory(id, 2, 2), `the chunk of observations up to 2 of ${id}`);
  await corrupt(instances.findAnswer(id, 'call:a', 0), `the answer to call:a of ${id}`);
  assert.is((await instances.readDrift(id, 2, 2)).length, 2);
});

damage('is rejected alone: other heads of the bucket stay readable', async () => {
  const { id, instances, session } = await storesOf();
  const ids = ['a', 'b', 'c'].map((name) => id + name);
  await instances.checkpoint(ids.map((instanceId) => ({ instanceId, ...full(2) })));
  await session.execute(
    'UPDATE heads USING TIMESTAMP 3 SET state = ? WHERE bucket = 7 AND instance_id = ?',
    [Buffer.from('damaged bytes'), `${id}b`],
    { kind: 'write', operation: 'test_write' },
  );
  const found = await instances.readHeads(ids);
  assert.equal([found.get(`${id}a`), found.get(`${id}c`)], [headAt(2), headAt(2)]);
  const spoilt = found.get(`${id}b`);
  assert.instance(spoilt, CorruptState);
  assert.ok(String(spoilt).includes(`the head of ${id}b`), String(spoilt));
});

damage.after(async () => (await opened)?.[Symbol.asyncDispose]());

for (const part of [stamps, damage]) part.run();

async function stampsOf(query: string, id: string): Promise<bigint[]> {
  return (await rowsOf(query, id)).map((row): bigint => row['stamp']);
}

function assertBetween(value: unknown, from: number, to: number): void {
  assert.ok(Number(value) > from && Number(value) <= to, `${value} s`);
}

async function corrupt(pending: Promise<unknown>, name: string): Promise<void> {
  const error = await pending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, CorruptState);
  assert.ok((error as Error).message.startsWith(name), (error as Error).message);
}
