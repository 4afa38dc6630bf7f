import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openConnection } from '#storage/sqlite/connection';
import type { Row } from '#storage/sqlite/database';
import { PreparedStatements } from '#storage/sqlite/prepared-statements';
import { resultCodeOf } from '#storage/sqlite/result-code';
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
  const statements = new PreparedStatements(database);
  let isScheduled = false;
  const answer = (message: ThreadAnswer) => port.postMessage(message);
  const fail = (id: number, error: unknown, isOutcomeUnknown = false) =>
    answer({ id, kind: 'failed', failure: failureOf(error, isOutcomeUnknown) });

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
      case 'read': {
        const { sql, values } = request.query;
        const rows = statements.of(sql).all(...values) as unknown as readonly Row[];
        answer({ id, kind: 'rows', rows });
        return;
      }
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

function failureOf(error: unknown, isOutcomeUnknown: boolean): ThreadFailure {
  const message = error instanceof Error ? error.message : String(error);
  return { message, code: resultCodeOf(error), isOutcomeUnknown };
}

if (parentPort !== null) serve(parentPort, workerData as ThreadData);
