import { type RowWrite, writeRows } from '#storage/cassandra/row-batches';
import type { CassandraSession } from '#storage/cassandra/session';
import {
  ANSWER_STORED_MS,
  type AnswerRow,
  type InstanceAnswer,
  type InstanceAnswers,
} from '#storage/instance-store';
import { decodeAnswerRow, encodeAnswerRow } from '#storage/row-codec';

/** Answers of one page: 2 MiB of those of usual size. */
const PAGE_ANSWERS = 1_000;

const READ = `SELECT answer FROM answers
  WHERE bucket = ? AND instance_id = ? AND answer_key = ?`;
const READ_KEYS = `SELECT answer_key, answer FROM answers
  WHERE bucket = ? AND instance_id = ? AND answer_key IN ?`;
const READ_ALL = `SELECT instance_id, answer_key, answer FROM answers
  WHERE bucket = ? AND instance_id IN ?`;
const WRITE = `INSERT INTO answers (bucket, instance_id, answer_key, answer) VALUES (?, ?, ?, ?)
  USING TIMESTAMP ? AND TTL ${ANSWER_STORED_MS / 1_000}`;
const DELETE = 'DELETE FROM answers USING TIMESTAMP ? WHERE bucket = ? AND instance_id = ?';

/** The stored answer for a key, if there is one. */
export async function readAnswer(
  session: CassandraSession,
  bucket: number,
  instanceId: string,
  key: string,
): Promise<AnswerRow | undefined> {
  const params = [bucket, instanceId, key];
  const { rows } = await session.execute(READ, params, { kind: 'read', operation: 'answer_read' });
  return rows[0] === undefined ? undefined : decodeAnswerRow(instanceId, key, rows[0]['answer']);
}

/** The stored answers for keys of an instance, all from one partition. */
export async function readAnswers(
  session: CassandraSession,
  bucket: number,
  instanceId: string,
  keys: readonly string[],
): Promise<AnswerRow[]> {
  const options = { kind: 'read', operation: 'answers_find' } as const;
  const { rows } = await session.execute(READ_KEYS, [bucket, instanceId, keys], options);
  return rows.map((row) => decodeAnswerRow(instanceId, row['answer_key'], row['answer']));
}

/** Every answer of instances of one bucket, page by page. */
export async function* answerPages(
  session: CassandraSession,
  bucket: number,
  instanceIds: readonly string[],
): AsyncGenerator<readonly InstanceAnswer[]> {
  const options = { kind: 'read', operation: 'answers_read', pageRows: PAGE_ANSWERS } as const;
  for await (const page of session.pages(READ_ALL, [bucket, instanceIds], options)) {
    yield page.map((row) => {
      const instanceId: string = row['instance_id'];
      return {
        instanceId,
        answer: decodeAnswerRow(instanceId, row['answer_key'], row['answer']),
      };
    });
  }
}

/** Writes the answers of instances of one bucket, each confirmed, as many in a batch as it takes. */
export async function writeAnswers(
  session: CassandraSession,
  bucket: number,
  parts: readonly InstanceAnswers[],
): Promise<void> {
  // Of a key used twice in one write only the newer: both would have the same timestamp.
  const newest = parts.map(({ instanceId, version, answers }) => {
    return { instanceId, version, rows: new Map(answers.map((row) => [row.key, row])).values() };
  });
  const options = { kind: 'write', operation: 'answers_write' } as const;
  await writeRows(session, writesOf(bucket, newest), options);
}

/** Removes the answers of a deleted instance, as of the version of its deletion. */
export async function deleteAnswers(
  session: CassandraSession,
  bucket: number,
  instanceId: string,
  version: number,
): Promise<void> {
  const params = [BigInt(version), bucket, instanceId];
  await session.execute(DELETE, params, { kind: 'write', operation: 'answers_delete' });
}

/** One after the other: of a hot instance there are thousands. */
function* writesOf(
  bucket: number,
  parts: readonly (Omit<InstanceAnswers, 'answers'> & { readonly rows: Iterable<AnswerRow> })[],
): Generator<RowWrite> {
  for (const { instanceId, version, rows } of parts) {
    for (const row of rows) {
      const value = encodeAnswerRow(row);
      const params = [bucket, instanceId, row.key, value, BigInt(version)];
      const valueBytes = value.length + 3 * (row.key.length + instanceId.length);
      yield { partition: bucket, statement: { query: WRITE, params }, valueBytes };
    }
  }
}
