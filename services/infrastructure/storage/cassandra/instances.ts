import type { types } from 'cassandra-driver';
import {
  chunkPages,
  DRIFT,
  deleteChunks,
  HISTORY,
  readRows,
  trimChunks,
  writeChunks,
} from '#storage/cassandra/chunks';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { allDone, type RowWrite, writeRows } from '#storage/cassandra/statements';
import {
  deleteStates,
  findStates,
  readStates,
  trimStates,
  writeStates,
} from '#storage/cassandra/states';
import {
  answersIn,
  newestAnswer,
  rowsOfAnswers,
  type SlotNames,
  slotNamesOf,
} from '#storage/ports/answer-rows';
import { type CorruptState, readOrCorrupt } from '#storage/ports/bytes';
import { decodeHead, encodeHead } from '#storage/ports/head-codec';
import {
  ANSWER_STORED_MS,
  type AnswerRow,
  type BucketOf,
  HEADS_BYTES_MAX,
  HEADS_MAX,
  type InstanceAnswer,
  type InstanceAnswers,
  type InstanceCheckpoint,
  type InstanceHead,
  MARKER_AGE_MS,
  onlyBucketOf,
  type PagedInstances,
} from '#storage/ports/instances';

/**
 * Maximum number of instances in a checkpoint whose rows are written in parallel. Small, to leave
 * capacity for appends.
 */
const ROWS_IN_FLIGHT_MAX = 4;

const READ_HEAD = 'SELECT state FROM heads WHERE bucket = ? AND instance_id = ?';
const READ_HEADS = 'SELECT instance_id, state FROM heads WHERE bucket = ? AND instance_id IN ?';
const READ_BUCKET = 'SELECT instance_id, state FROM heads WHERE bucket = ?';
const WRITE_HEAD = `INSERT INTO heads (bucket, instance_id, state) VALUES (?, ?, ?)
  USING TIMESTAMP ?`;
const WRITE_MARKER = `${WRITE_HEAD} AND TTL ${MARKER_AGE_MS / 1_000}`;

/**
 * Instances in Cassandra. The timestamp of a write is the checkpoint's version. The higher version
 * therefore wins, even if writes arrive late or twice (architecture 3.2). Reads throw
 * `CorruptState` for a damaged value.
 */
export function cassandraInstanceStore(
  session: CassandraSession,
  bucketOf: BucketOf,
): PagedInstances {
  return {
    bucketOf,
    async readHead(instanceId) {
      const options: StatementOptions = { kind: 'read', operation: 'head_read' };
      const params = [bucketOf(instanceId), instanceId];
      const { rows } = await session.execute(READ_HEAD, params, options);
      return rows[0] === undefined ? undefined : decodeHead(instanceId, rows[0]['state']);
    },
    async readHeads(instanceIds) {
      const bucket = onlyBucketOf(bucketOf, instanceIds, HEADS_MAX);
      if (bucket === undefined) return new Map();
      const options: StatementOptions = { kind: 'read', operation: 'heads_read' };
      const { rows } = await session.execute(READ_HEADS, [bucket, instanceIds], options);
      return new Map(rows.map((row) => [row['instance_id'], decoded(row)]));
    },
    async checkpoint(checkpoints) {
      const ids = checkpoints.map(({ instanceId }) => instanceId);
      const bucket = onlyBucketOf(bucketOf, ids, HEADS_MAX);
      if (bucket === undefined) return;
      // Parts are built before the first await, because the caller may change its lists.
      const parts = checkpoints.map((checkpoint) => partOf(session, bucket, checkpoint));
      const waiting = parts.values();
      const answers = writeAnswers(session, bucket, checkpoints.flatMap(answersOf));
      const worker = async (): Promise<void> => {
        for (const part of waiting) await part.store();
      };
      await allDone([answers, ...Array.from({ length: ROWS_IN_FLIGHT_MAX }, worker)]);
      const heads = parts.values().map(({ head }) => head());
      const options: StatementOptions = { kind: 'write', operation: 'head_write' };
      await writeRows(session, heads, options, HEADS_BYTES_MAX);
    },
    async storeAnswers(parts) {
      const ids = parts.map(({ instanceId }) => instanceId);
      const bucket = onlyBucketOf(bucketOf, ids);
      if (bucket !== undefined) await writeAnswers(session, bucket, parts);
    },
    readHistory: (instanceId, newest, count) =>
      readRows(session, HISTORY, instanceId, newest, count),
    readDrift: (instanceId, newest, count) => readRows(session, DRIFT, instanceId, newest, count),
    readStates: (instanceId, range) => readStates(session, instanceId, range),
    findStates: (instanceId, generation, cycles) =>
      findStates(session, instanceId, generation, cycles),
    async findAnswer(instanceId, key, oldestMs) {
      const rows = await readAnswers(session, bucketOf(instanceId), instanceId, [key]);
      return newestAnswer(rows.filter(({ atMs }) => atMs >= oldestMs));
    },
    async findAnswers(instanceId, keys, oldestMs) {
      const rows = await readAnswers(session, bucketOf(instanceId), instanceId, keys);
      const young = rows.filter(({ atMs }) => atMs >= oldestMs);
      const byKey = Map.groupBy(young, ({ key }) => key).values();
      return [...byKey].flatMap((same) => newestAnswer(same) ?? []);
    },
    headPages: (bucket) => headPages(session, bucket),
    async *answerPages(instanceIds) {
      const bucket = onlyBucketOf(bucketOf, instanceIds, HEADS_MAX);
      if (bucket !== undefined) yield* answerPages(session, bucket, instanceIds);
    },
    chunkPages: (table, instanceId, after, newest) =>
      table === 'history'
        ? chunkPages(session, HISTORY, instanceId, after, newest)
        : chunkPages(session, DRIFT, instanceId, after, newest),
  };
}

async function* headPages(
  session: CassandraSession,
  bucket: number,
): AsyncGenerator<ReadonlyMap<string, InstanceHead | CorruptState>> {
  const options = { kind: 'read', operation: 'heads_read', pageRows: HEADS_MAX } as const;
  for await (const page of session.pages(READ_BUCKET, [bucket], options)) {
    yield new Map(page.map((row) => [row['instance_id'], decoded(row)]));
  }
}

/** Answers in the checkpoint of an instance. Empty if the instance is deleted. */
function answersOf({ instanceId, head, answers }: InstanceCheckpoint): InstanceAnswers[] {
  return head.deletedAtMs === undefined ? [{ instanceId, version: head.version, answers }] : [];
}

/** Decodes the head in a row. Returns the `CorruptState` error of a damaged row. */
function decoded(row: types.Row): InstanceHead | CorruptState {
  return readOrCorrupt(() => decodeHead(row['instance_id'], row['state']));
}

/** Writes of one instance's checkpoint: chunks, trims or deletions, and then the head. */
function partOf(session: CassandraSession, bucket: number, checkpoint: InstanceCheckpoint) {
  const { instanceId, head, trimmedFrom } = checkpoint;
  const history = [...checkpoint.history];
  const drift = [...checkpoint.drift];
  const states = [...(checkpoint.states ?? [])];
  const isLive = head.deletedAtMs === undefined;
  return {
    store: async (): Promise<void> => {
      if (isLive && trimmedFrom !== undefined) {
        await trimChunks(session, instanceId, head, trimmedFrom);
        await trimStates(session, instanceId, head);
      }
      const { version } = head;
      if (isLive) {
        const chunks = writeChunks(session, instanceId, head, history, drift);
        return allDone([chunks, writeStates(session, instanceId, version, states)]);
      }
      const answers = deleteAnswers(session, bucket, instanceId, version);
      const past = deleteStates(session, instanceId, version);
      await allDone([answers, past, deleteChunks(session, instanceId, head)]);
    },
    head: (): RowWrite => {
      const query = isLive ? WRITE_HEAD : WRITE_MARKER;
      const state = encodeHead(head);
      const params = [bucket, instanceId, state, BigInt(head.version)];
      return { partition: bucket, statement: { query, params }, valueBytes: state.length };
    },
  };
}

/** Maximum number of rows of answers in a page: 1 MiB of full slots. */
const PAGE_ROWS = 100;

const READ_KEYS = `SELECT answer_key, answer FROM answers
  WHERE bucket = ? AND instance_id = ? AND answer_key IN ?`;
const READ_SLOT = `SELECT answer_key, answer FROM answers
  WHERE bucket = ? AND instance_id = ? AND answer_key > ? AND answer_key < ?`;
const READ_ALL = `SELECT instance_id, answer_key, answer FROM answers
  WHERE bucket = ? AND instance_id IN ?`;
const WRITE = `INSERT INTO answers (bucket, instance_id, answer_key, answer) VALUES (?, ?, ?, ?)
  USING TIMESTAMP ? AND TTL ${ANSWER_STORED_MS / 1_000}`;
const DELETE = 'DELETE FROM answers USING TIMESTAMP ? WHERE bucket = ? AND instance_id = ?';

/** Stored answers for keys of an instance, from one partition. A reused key has several answers. */
async function readAnswers(
  session: CassandraSession,
  bucket: number,
  instanceId: string,
  keys: readonly string[],
): Promise<AnswerRow[]> {
  const options = { kind: 'read', operation: 'answers_find' } as const;
  const own = session.execute(READ_KEYS, [bucket, instanceId, keys], options);
  const slots = new Map<string, SlotNames>();
  for (const key of keys) {
    const names = slotNamesOf(key);
    if (names !== undefined) slots.set(names.after, names);
  }
  const ofSlots = [...slots.values()].map((names) => readSlot(session, bucket, instanceId, names));
  const [{ rows }, ...slotted] = await Promise.all([own, ...ofSlots]);
  const wanted = new Set(keys);
  const found = [...rows, ...slotted.flat()].flatMap((row) => answersOfRow(instanceId, row, keys));
  return found.filter(({ key }) => wanted.has(key));
}

/** Answers in a row; if only one key is wanted, only the answer to this key. */
function answersOfRow(
  instanceId: string,
  row: types.Row,
  [key, ...others]: readonly string[] = [],
): readonly AnswerRow[] {
  const only = others.length === 0 ? key : undefined;
  return answersIn(instanceId, row['answer_key'], row['answer'], only);
}

async function readSlot(
  session: CassandraSession,
  bucket: number,
  instanceId: string,
  { after, before }: SlotNames,
): Promise<types.Row[]> {
  const options = { kind: 'read', operation: 'answers_find', pageRows: PAGE_ROWS } as const;
  const params = [bucket, instanceId, after, before];
  const rows: types.Row[] = [];
  for await (const page of session.pages(READ_SLOT, params, options)) rows.push(...page);
  return rows;
}

/** All answers of a bucket's instances, in pages. */
async function* answerPages(
  session: CassandraSession,
  bucket: number,
  instanceIds: readonly string[],
): AsyncGenerator<readonly InstanceAnswer[]> {
  const options = { kind: 'read', operation: 'answers_read', pageRows: PAGE_ROWS } as const;
  for await (const page of session.pages(READ_ALL, [bucket, instanceIds], options)) {
    yield page.flatMap((row) => {
      const instanceId: string = row['instance_id'];
      return answersOfRow(instanceId, row).map((answer) => ({ instanceId, answer }));
    });
  }
}

/**
 * Writes answers of instances that share a bucket, in batches as large as allowed. Fulfils when
 * every batch is confirmed.
 */
async function writeAnswers(
  session: CassandraSession,
  bucket: number,
  parts: readonly InstanceAnswers[],
): Promise<void> {
  const options = { kind: 'write', operation: 'answers_write' } as const;
  const copies = parts.map((part) => ({ ...part, answers: [...part.answers] }));
  await writeRows(session, writesOf(bucket, copies), options);
}

/** Deletes the answers of a deleted instance, with the version of the deletion as timestamp. */
async function deleteAnswers(
  session: CassandraSession,
  bucket: number,
  instanceId: string,
  version: number,
): Promise<void> {
  const params = [BigInt(version), bucket, instanceId];
  await session.execute(DELETE, params, { kind: 'write', operation: 'answers_delete' });
}

/** Generates writes instance by instance, because a hot instance has thousands of answers. */
function* writesOf(bucket: number, parts: readonly InstanceAnswers[]): Generator<RowWrite> {
  for (const { instanceId, version, answers } of parts) {
    for (const { name, value } of rowsOfAnswers(answers)) {
      const params = [bucket, instanceId, name, value, BigInt(version)];
      const valueBytes = value.length + 3 * (name.length + instanceId.length);
      yield { partition: bucket, statement: { query: WRITE, params }, valueBytes };
    }
  }
}
