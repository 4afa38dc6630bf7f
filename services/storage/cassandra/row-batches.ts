import type { CassandraSession, Statement, StatementOptions } from '#storage/cassandra/session';

/** A batch to one partition may be larger; kept small all the same. Bytes. Source: architecture 3.2. */
const BATCH_BYTES_MAX = 60 * 1_024;

/** What a row takes in a batch besides its value: key, timestamp, statement id. Bytes. */
const ROW_BYTES = 96;

/** A statement that writes one row, the partition it goes to, and the bytes of its value. */
export type RowWrite = {
  readonly partition: number;
  readonly statement: Statement;
  readonly valueBytes: number;
};

/**
 * Writes rows in their order, each confirmed: as many of one partition in a batch as its bound
 * allows, one batch after the other. Rejects with the first fault; then some may be written. Rows
 * are taken as they are needed, so that a long list costs the event loop a batch at a time.
 */
export async function writeRows(
  session: CassandraSession,
  writes: Iterable<RowWrite>,
  options: StatementOptions,
  bytesMax = BATCH_BYTES_MAX,
): Promise<void> {
  for (const statements of batchesOf(writes, bytesMax)) {
    const [first] = statements;
    if (first === undefined) continue;
    if (statements.length === 1) await session.execute(first.query, first.params, options);
    else await session.batch(statements, options);
  }
}

/** Neighbours of one partition together, up to the bound; a row above it goes alone. */
export function* batchesOf(
  writes: Iterable<RowWrite>,
  bytesMax = BATCH_BYTES_MAX,
): Generator<Statement[]> {
  let open: { partition: number; bytes: number; statements: Statement[] } | undefined;
  for (const { partition, statement, valueBytes } of writes) {
    const bytes = ROW_BYTES + valueBytes;
    const hasRoom = open?.partition === partition && open.bytes + bytes <= bytesMax;
    if (open === undefined || !hasRoom) {
      if (open !== undefined) yield open.statements;
      open = { partition, bytes: 0, statements: [] };
    }
    open.bytes += bytes;
    open.statements.push(statement);
  }
  if (open !== undefined) yield open.statements;
}

/** Like `Promise.all`, but nothing is under way any more when it rejects. */
export async function allDone(pending: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(pending)) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
}
