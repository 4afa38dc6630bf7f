import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openConnection } from '#storage/sqlite/connection';
import type { Query, Row } from '#storage/sqlite/database';
import type {
  ThreadAnswer,
  ThreadData,
  ThreadFailure,
  ThreadRequest,
} from '#storage/sqlite/thread-messages';
import { WriteQueue } from '#storage/sqlite/write-queue';

/*
 * What runs in a thread of the file: SQLite's calls end when the disk has answered, which must never
 * stop the event loop that callers wait for.
 */

function serve(port: MessagePort, { file }: ThreadData): void {
  const database = openConnection(file);
  const queue = new WriteQueue(database);
  const statements = new Map<string, StatementSync>();
  let isScheduled = false;
  const answer = (message: ThreadAnswer) => port.postMessage(message);
  const fail = (id: number, error: unknown, isOutcomeUnknown = false) =>
    answer({ id, kind: 'failed', failure: { ...failureOf(error), isOutcomeUnknown } });

  const drain = () => {
    isScheduled = false;
    queue.writeNext();
    if (!queue.isEmpty) schedule();
  };
  // After what else has arrived: it goes into the same transaction.
  const schedule = () => {
    if (!isScheduled) setImmediate(drain);
    isScheduled = true;
  };

  const take = (request: ThreadRequest): void => {
    const { id } = request;
    switch (request.kind) {
      case 'read':
        answer({ id, kind: 'rows', rows: rowsOf(database, statements, request.query) });
        return;
      case 'write':
        queue.push({
          transaction: request.transaction,
          written: (isKept) => answer({ id, kind: 'written', isKept }),
          failed: (error, isOutcomeUnknown) => fail(id, error, isOutcomeUnknown),
        });
        schedule();
        return;
      case 'close':
        while (!queue.isEmpty) queue.writeNext();
        database.close();
        answer({ id, kind: 'done' });
        port.close();
    }
  };
  port.on('message', (request: ThreadRequest) => {
    try {
      take(request);
    } catch (error) {
      fail(request.id, error);
    }
  });
}

function rowsOf(
  database: DatabaseSync,
  statements: Map<string, StatementSync>,
  { sql, values }: Query,
): readonly Row[] {
  let statement = statements.get(sql);
  if (statement === undefined) {
    statement = database.prepare(sql);
    statement.setReturnArrays(true);
    statements.set(sql, statement);
  }
  return statement.all(...values) as unknown as readonly Row[];
}

function failureOf(error: unknown): Omit<ThreadFailure, 'isOutcomeUnknown'> {
  const { message } = error instanceof Error ? error : { message: String(error) };
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : undefined;
  return { message, code };
}

if (parentPort !== null) serve(parentPort, workerData as ThreadData);
