import assert from 'node:assert/strict';
import type { types } from 'cassandra-driver';
import type { BucketOf } from '#storage/bucket-of';
import { CorruptState } from '#storage/cassandra/byte-reader';
import { decodeHead, encodeHead } from '#storage/cassandra/head-codec';
import { type RowWrite, writeRows } from '#storage/cassandra/row-batches';
import { rangesOf, bucketOf as rowBucketOf } from '#storage/cassandra/row-buckets';
import * as rowCodec from '#storage/cassandra/row-codec';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import {
  type AnswerRow,
  HEADS_BYTES_MAX,
  HEADS_MAX,
  type InstanceCheckpoint,
  type InstanceHead,
  type InstanceStore,
} from '#storage/instance-store';

/** How long the marker of a deleted instance stays: journals may hold its records. Architecture 3.2. */
const MARKER_SECONDS = 40 * 24 * 60 * 60;

/** How long the server keeps an answer: 24 h, and an hour for the checkpoint to come late. */
const ANSWER_SECONDS = 25 * 60 * 60;

/** Rows of one page of a read: 4 MiB when every context has the largest size. */
const PAGE_ROWS = 512;

/** Deletions of buckets under way at once, of which an old instance may have hundreds. */
const DELETIONS_IN_FLIGHT_MAX = 8;

/** Instances of one checkpoint whose rows are written at once: what appends leave. Chosen. */
const ROWS_IN_FLIGHT_MAX = 4;

const READ_HEAD = 'SELECT state FROM heads WHERE bucket = ? AND instance_id = ?';
const READ_HEADS = 'SELECT instance_id, state FROM heads WHERE bucket = ? AND instance_id IN ?';
const WRITE_HEAD = `INSERT INTO heads (bucket, instance_id, state) VALUES (?, ?, ?)
  USING TIMESTAMP ?`;
const WRITE_MARKER = `${WRITE_HEAD} AND TTL ${MARKER_SECONDS}`;

const READ_ANSWER = 'SELECT answer FROM answers WHERE instance_id = ? AND answer_key = ?';
const WRITE_ANSWER = `INSERT INTO answers (instance_id, answer_key, answer) VALUES (?, ?, ?)
  USING TIMESTAMP ? AND TTL ${ANSWER_SECONDS}`;
const DELETE_ANSWERS = 'DELETE FROM answers USING TIMESTAMP ? WHERE instance_id = ?';

/** The two tables of numbered rows, alike but for their names. */
const HISTORY = numberedRows('history', 'observation');
const DRIFT = numberedRows('drift', 'event');
type NumberedRows = ReturnType<typeof numberedRows>;

/**
 * Instances in Cassandra. Every write carries the checkpoint's version as its timestamp, so that
 * the higher version wins whatever comes late or twice (architecture 3.2). Reading what is not as
 * it was written throws `CorruptState`.
 */
export function cassandraInstanceStore(
  session: CassandraSession,
  bucketOf: BucketOf,
): InstanceStore {
  return {
    bucketOf,
    async readHead(instanceId) {
      const options: StatementOptions = { kind: 'read', operation: 'head_read' };
      const params = [bucketOf(instanceId), instanceId];
      const { rows } = await session.execute(READ_HEAD, params, options);
      return rows[0] === undefined ? undefined : decodeHead(instanceId, rows[0]['state']);
    },
    async readHeads(instanceIds) {
      const bucket = onlyBucket(instanceIds, bucketOf);
      if (bucket === undefined) return new Map();
      const options: StatementOptions = { kind: 'read', operation: 'heads_read' };
      const { rows } = await session.execute(READ_HEADS, [bucket, instanceIds], options);
      return new Map(rows.map((row) => [row['instance_id'], decoded(row)]));
    },
    async checkpoint(checkpoints) {
      const ids = checkpoints.map(({ instanceId }) => instanceId);
      const bucket = onlyBucket(ids, bucketOf);
      if (bucket === undefined) return;
      // Taken before the first wait: the caller may change its lists.
      const parts = checkpoints.map((checkpoint) => partOf(session, bucket, checkpoint));
      const waiting = parts.values();
      const worker = async (): Promise<void> => {
        for (const part of waiting) await part.store();
      };
      await allDone(Array.from({ length: ROWS_IN_FLIGHT_MAX }, worker));
      const heads = parts.values().map(({ head }) => head());
      const options: StatementOptions = { kind: 'write', operation: 'head_write' };
      await writeRows(session, heads, options, HEADS_BYTES_MAX);
    },
    readHistory: (instanceId, newest, count) =>
      readRows(session, HISTORY, rowCodec.decodeHistoryRow, instanceId, newest, count),
    readDrift: (instanceId, newest, count) =>
      readRows(session, DRIFT, rowCodec.decodeDriftRow, instanceId, newest, count),
    async findAnswer(instanceId, key, oldestMs) {
      const options: StatementOptions = { kind: 'read', operation: 'answer_read' };
      const { rows } = await session.execute(READ_ANSWER, [instanceId, key], options);
      if (rows[0] === undefined) return undefined;
      const row = rowCodec.decodeAnswerRow(instanceId, key, rows[0]['answer']);
      return row.atMs < oldestMs ? undefined : row;
    },
  };
}

/** The bucket that all of the instances lie in; undefined for none. */
function onlyBucket(instanceIds: readonly string[], bucketOf: BucketOf): number | undefined {
  assert(instanceIds.length <= HEADS_MAX, `more than ${HEADS_MAX} heads at once`);
  const buckets = new Set(instanceIds.map(bucketOf));
  assert(buckets.size <= 1, 'the instances of one call are of one bucket');
  return buckets.values().next().value;
}

/** The head in a row, or what is wrong with it: others of the same read are as they should be. */
function decoded(row: types.Row): InstanceHead | CorruptState {
  try {
    return decodeHead(row['instance_id'], row['state']);
  } catch (error) {
    if (error instanceof CorruptState) return error;
    throw error;
  }
}

/** What is written of one instance: all its rows, and then its head. */
function partOf(session: CassandraSession, bucket: number, checkpoint: InstanceCheckpoint) {
  const { instanceId, head } = checkpoint;
  const rows = head.deletedAtMs === undefined ? rowsOf(checkpoint) : undefined;
  return {
    store: () =>
      rows === undefined ? deleteRows(session, instanceId, head) : writeAll(session, rows),
    head: (): RowWrite => {
      const query = rows === undefined ? WRITE_MARKER : WRITE_HEAD;
      const state = encodeHead(head);
      const params = [bucket, instanceId, state, BigInt(head.version)];
      return { partition: bucket, statement: { query, params }, valueBytes: state.length };
    },
  };
}

function numberedRows(table: string, value: string) {
  return {
    table,
    value,
    read: `SELECT ordinal, ${value} FROM ${table}
      WHERE instance_id = ? AND bucket = ? AND ordinal <= ? AND ordinal > ?`,
    write: `INSERT INTO ${table} (instance_id, bucket, ordinal, ${value}) VALUES (?, ?, ?, ?)
      USING TIMESTAMP ?`,
    remove: `DELETE FROM ${table} USING TIMESTAMP ? WHERE instance_id = ? AND bucket = ?`,
  };
}

async function readRows<Row>(
  session: CassandraSession,
  { read, table, value }: NumberedRows,
  decode: (instanceId: string, ordinal: number, bytes: unknown) => Row,
  instanceId: string,
  newest: number,
  count: number,
): Promise<Row[]> {
  const found: Row[] = [];
  const operation = `${table}_read`;
  for (const range of rangesOf(newest, count)) {
    const params = [instanceId, range.bucket, BigInt(range.newest), BigInt(range.after)];
    const options: StatementOptions = { kind: 'read', operation, pageRows: PAGE_ROWS };
    for await (const page of session.pages(read, params, options)) {
      for (const row of page) found.push(decode(instanceId, Number(row['ordinal']), row[value]));
    }
  }
  return found;
}

type Rows = { readonly table: string; readonly writes: Iterable<RowWrite> };

function rowsOf({ instanceId, head, history, drift, answers }: InstanceCheckpoint): Rows[] {
  const timestamp = BigInt(head.version);
  const numbered = <Row extends { ordinal: number }>(
    { table, write }: NumberedRows,
    rows: readonly Row[],
    encode: (row: Row) => Buffer,
  ): Rows => {
    const writes = rows.values().map((row) => {
      const partition = rowBucketOf(row.ordinal);
      const value = encode(row);
      const params = [instanceId, partition, BigInt(row.ordinal), value, timestamp];
      return { partition, statement: { query: write, params }, valueBytes: value.length };
    });
    return { table, writes };
  };
  return [
    numbered(HISTORY, [...history], rowCodec.encodeHistoryRow),
    numbered(DRIFT, [...drift], rowCodec.encodeDriftRow),
    { table: 'answers', writes: answerWrites(instanceId, answers, timestamp) },
  ];
}

function answerWrites(
  instanceId: string,
  answers: readonly AnswerRow[],
  timestamp: bigint,
): RowWrite[] {
  // Of a key used twice in one checkpoint only the newer: both would have the same timestamp.
  const newest = new Map(answers.map((row) => [row.key, row]));
  return [...newest.values()].map((row) => {
    const value = rowCodec.encodeAnswerRow(row);
    const params = [instanceId, row.key, value, timestamp];
    return {
      partition: 0,
      statement: { query: WRITE_ANSWER, params },
      valueBytes: value.length + 3 * row.key.length,
    };
  });
}

/** Writes the tables side by side. Ends when every write has; rejects if one has failed. */
async function writeAll(session: CassandraSession, rows: readonly Rows[]): Promise<void> {
  await allDone(
    rows.map(({ table, writes }) =>
      writeRows(session, writes, { kind: 'write', operation: `${table}_write` }),
    ),
  );
}

/** Removes every row of a deleted instance, as of the version of its deletion. */
async function deleteRows(
  session: CassandraSession,
  instanceId: string,
  { version, historyCount, driftCount }: InstanceHead,
): Promise<void> {
  const timestamp = BigInt(version);
  const bucketsOf = ({ table, remove }: NumberedRows, count: number) =>
    Array.from({ length: rowBucketOf(count) + 1 }, (_, bucket) => ({
      query: remove,
      params: [timestamp, instanceId, bucket],
      operation: `${table}_delete`,
    }));
  const deletions = [
    { query: DELETE_ANSWERS, params: [timestamp, instanceId], operation: 'answers_delete' },
    ...bucketsOf(HISTORY, historyCount),
    ...bucketsOf(DRIFT, driftCount),
  ].values();
  const worker = async (): Promise<void> => {
    for (const { query, params, operation } of deletions) {
      await session.execute(query, params, { kind: 'write', operation });
    }
  };
  await allDone(Array.from({ length: DELETIONS_IN_FLIGHT_MAX }, worker));
}

/** Like `Promise.all`, but nothing is under way any more when it rejects. */
async function allDone(pending: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(pending)) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
}
