import { answersIn, newestAnswer, rowsOfAnswers, slotNamesOf } from '#storage/ports/answer-rows';
import { type CorruptState, readOrCorrupt } from '#storage/ports/bytes';
import { decodeHead, encodeHead } from '#storage/ports/head-codec';
import {
  type AnswerRow,
  type BucketOf,
  HEADS_MAX,
  type InstanceAnswer,
  type InstanceAnswers,
  type InstanceCheckpoint,
  type InstanceHead,
  MARKER_AGE_MS,
  onlyBucketOf,
  type PagedInstances,
  trimmedOf,
} from '#storage/ports/instances';
import {
  chunkPages,
  DRIFT,
  deletionOfChunks,
  HISTORY,
  readRows,
  trimOfChunks,
  writesOfChunks,
} from '#storage/sqlite/chunks';
import type { Row, SqliteDatabase, SqlValue, Statement } from '#storage/sqlite/database';
import { deletionOfStates, findStates, readStates, writesOfStates } from '#storage/sqlite/states';
import { bytesIn, CheckedTable, type Condition, rowPages, textIn } from '#storage/sqlite/tables';

/** Maximum number of rows of answers in a page: 1 MiB of full slots. */
const PAGE_ROWS = 100;

const HEADS = new CheckedTable({
  name: 'heads',
  keys: ['bucket', 'instance_id'],
  others: ['version', 'expires_at_ms', 'state'],
  part: 'bucket',
});
const ANSWERS = new CheckedTable({
  name: 'answers',
  keys: ['instance_id', 'answer_key'],
  others: ['version', 'at_ms', 'answer'],
});

const HEAD_PAGE = HEADS.select(
  `WHERE bucket = ? AND instance_id > ? ORDER BY instance_id LIMIT ${HEADS_MAX}`,
);
const SLOT_ROWS = ANSWERS.select('WHERE instance_id = ? AND answer_key > ? AND answer_key < ?');

const ANSWER_PAGE = ANSWERS.select(
  `WHERE instance_id = ? AND answer_key > ? ORDER BY answer_key LIMIT ${PAGE_ROWS}`,
);

/**
 * Instances in an SQLite file. A single transaction writes the checkpoints of many instances. The
 * checkpoint of an instance is skipped if the stored head has a higher version. Reads throw
 * `CorruptState` for a damaged row.
 */
export function sqliteInstanceStore(database: SqliteDatabase, bucketOf: BucketOf): PagedInstances {
  const readHeads = async (instanceIds: readonly string[]): Promise<readonly Row[]> => {
    const bucket = onlyBucketOf(bucketOf, instanceIds, HEADS_MAX);
    if (bucket === undefined) return [];
    const places = instanceIds.map(() => '?').join(', ');
    const sql = HEADS.select(`WHERE bucket = ? AND instance_id IN (${places})`);
    const values = [bucket, ...instanceIds];
    const rows = await database.read({ operation: 'heads_read', sql, values });
    if (rows.length < instanceIds.length) await HEADS.assertWhole(database, bucket);
    return rows;
  };

  const findAnswer: PagedInstances['findAnswer'] = async (instanceId, key, oldestMs) => {
    const own = ANSWERS.find(database, 'answer_read', [instanceId, key]);
    const [row, slotted] = await Promise.all([own, rowsOfSlot(database, instanceId, key)]);
    const rows = row === undefined ? slotted : [row, ...slotted];
    const answers = rows.flatMap((one) => answersOf(instanceId, one, key));
    return newestAnswer(answers.filter(({ atMs }) => atMs >= oldestMs));
  };

  return {
    bucketOf,
    async readHead(instanceId) {
      const row = await HEADS.find(database, 'head_read', [bucketOf(instanceId), instanceId]);
      return row && decodeHead(instanceId, bytesIn(row, 4));
    },
    async readHeads(instanceIds) {
      return new Map((await readHeads(instanceIds)).map((row) => [textIn(row, 1), decoded(row)]));
    },
    async checkpoint(checkpoints) {
      const ids = checkpoints.map(({ instanceId }) => instanceId);
      const bucket = onlyBucketOf(bucketOf, ids, HEADS_MAX);
      if (bucket === undefined) return;
      // Statements are built before the first await, because the caller may change its lists.
      const parts = checkpoints.map((checkpoint) => statementsOf(database, bucket, checkpoint));
      const statements = (await Promise.all(parts)).flat();
      await database.write({ operation: 'heads_write', statements });
    },
    async storeAnswers(parts) {
      const ids = parts.map(({ instanceId }) => instanceId);
      const bucket = onlyBucketOf(bucketOf, ids);
      if (bucket === undefined) return;
      const statements = parts.flatMap((part) =>
        writesOfAnswers(part, notDeleted(bucket, part.instanceId)),
      );
      if (statements.length > 0) await database.write({ operation: 'answers_write', statements });
    },
    readHistory: (instanceId, newest, count) =>
      readRows(database, HISTORY, instanceId, newest, count),
    readDrift: (instanceId, newest, count) => readRows(database, DRIFT, instanceId, newest, count),
    readStates: (instanceId, range) => readStates(database, instanceId, range),
    findStates: (instanceId, generation, cycles) =>
      findStates(database, instanceId, generation, cycles),
    findAnswer,
    async findAnswers(instanceId, keys, oldestMs) {
      // One `find` per key. Only `find` checks the neighbours of a key, and so detects a key that
      // was damaged on disk.
      const found = await Promise.all(keys.map((key) => findAnswer(instanceId, key, oldestMs)));
      return found.filter((answer) => answer !== undefined);
    },
    headPages: (bucket) => headPages(database, bucket),
    async *answerPages(instanceIds) {
      if (onlyBucketOf(bucketOf, instanceIds, HEADS_MAX) === undefined) return;
      for (const instanceId of instanceIds) yield* answerPages(database, instanceId);
    },
    chunkPages: (table, instanceId, after, newest) =>
      table === 'history'
        ? chunkPages(database, HISTORY, instanceId, after, newest)
        : chunkPages(database, DRIFT, instanceId, after, newest),
  };
}

async function* headPages(
  database: SqliteDatabase,
  bucket: number,
): AsyncGenerator<ReadonlyMap<string, InstanceHead | CorruptState>> {
  await HEADS.assertWhole(database, bucket);
  const paging = { operation: 'heads_read', sql: HEAD_PAGE, pageRows: HEADS_MAX };
  const valuesAfter = (after: SqlValue) => [bucket, after];
  for await (const rows of rowPages(database, { ...paging, valuesAfter, start: '', column: 1 })) {
    yield new Map(rows.map((row) => [textIn(row, 1), decoded(row)]));
  }
}

async function* answerPages(
  database: SqliteDatabase,
  instanceId: string,
): AsyncGenerator<readonly InstanceAnswer[]> {
  const paging = { operation: 'answers_read', sql: ANSWER_PAGE, pageRows: PAGE_ROWS };
  const valuesAfter = (after: SqlValue) => [instanceId, after];
  for await (const rows of rowPages(database, { ...paging, valuesAfter, start: '', column: 1 })) {
    yield ANSWERS.rowsOf(rows).flatMap((row) =>
      answersOf(instanceId, row).map((answer) => ({ instanceId, answer })),
    );
  }
}

/** Answers in a row; with `key` only the answer to this key. */
function answersOf(instanceId: string, row: Row, key?: string): readonly AnswerRow[] {
  return answersIn(instanceId, textIn(row, 1), bytesIn(row, 4), key);
}

/** Rows of the slot of a key. The neighbours of the slot are checked, as `find` does. */
async function rowsOfSlot(
  database: SqliteDatabase,
  instanceId: string,
  key: string,
): Promise<readonly Row[]> {
  const names = slotNamesOf(key);
  if (names === undefined) return [];
  const operation = 'answer_read';
  const values = [instanceId, names.after, names.before];
  const [rows] = await Promise.all([
    ANSWERS.read(database, { operation, sql: SLOT_ROWS, values }),
    ANSWERS.find(database, operation, [instanceId, names.after]),
    ANSWERS.find(database, operation, [instanceId, names.before]),
  ]);
  return rows;
}

/** Decodes the head in a row. Returns the `CorruptState` error of a damaged row. */
function decoded(row: Row): InstanceHead | CorruptState {
  return readOrCorrupt(() => {
    const [columns = []] = HEADS.rowsOf([row]);
    return decodeHead(textIn(columns, 1), bytesIn(columns, 4));
  });
}

/** Statements for a checkpoint: chunks and answers, or their deletion, then the head. */
async function statementsOf(
  database: SqliteDatabase,
  bucket: number,
  { instanceId, head, history, drift, answers, states = [], trimmedFrom }: InstanceCheckpoint,
): Promise<Statement[]> {
  const { version, deletedAtMs } = head;
  const where = notOlder(bucket, instanceId, version);
  const expiresAtMs = deletedAtMs === undefined ? null : deletedAtMs + MARKER_AGE_MS;
  const row = [bucket, instanceId, version, expiresAtMs, encodeHead(head)];
  const stored = HEADS.put(row, { unlessHigher: 'version' });
  if (deletedAtMs !== undefined) {
    const condition = `instance_id = ? AND ${where.condition}`;
    return [
      deletionOfChunks(HISTORY, instanceId, where),
      deletionOfChunks(DRIFT, instanceId, where),
      deletionOfStates(instanceId, undefined, where),
      ANSWERS.delete(condition, [instanceId, ...where.values]),
      stored,
    ];
  }
  const writes = [
    ...writesOfChunks(HISTORY, instanceId, history, where),
    ...writesOfChunks(DRIFT, instanceId, drift, where),
    ...writesOfStates(instanceId, states, where),
    ...writesOfAnswers({ instanceId, version, answers }, where),
  ];
  if (trimmedFrom === undefined) return [...writes, stored];
  const floor = trimmedOf(head);
  const trims = await Promise.all([
    trimOfChunks(database, HISTORY, instanceId, history, floor.history, where),
    trimOfChunks(database, DRIFT, instanceId, drift, floor.drift, where),
  ]);
  const past = head.floor === undefined ? [] : [deletionOfStates(instanceId, head.floor, where)];
  return [...writes, ...trims.flat(), ...past, stored];
}

function writesOfAnswers(
  { instanceId, version, answers }: InstanceAnswers,
  where: Condition,
): Statement[] {
  return rowsOfAnswers(answers)
    .map(({ name, value, atMs }) =>
      // The row is stored behind all other rows, because `deleteExpired` checks only the first rows
      // (`schema.ts`).
      ANSWERS.putLast([instanceId, name, version, atMs, value], { unlessHigher: 'version', where }),
    )
    .toArray();
}

/** Condition: the stored head is not newer than `version`. */
function notOlder(bucket: number, instanceId: string, version: number): Condition {
  return {
    condition: `NOT EXISTS (SELECT 1 FROM heads
      WHERE bucket = ? AND heads.instance_id = ? AND heads.version > ?)`,
    values: [bucket, instanceId, version],
  };
}

/** Condition: the instance is not deleted. */
function notDeleted(bucket: number, instanceId: string): Condition {
  return {
    condition: `NOT EXISTS (SELECT 1 FROM heads
      WHERE bucket = ? AND heads.instance_id = ? AND heads.expires_at_ms IS NOT NULL)`,
    values: [bucket, instanceId],
  };
}
