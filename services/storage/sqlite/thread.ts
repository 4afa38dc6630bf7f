import type { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openConnection } from '#storage/sqlite/connection';
import type { Row } from '#storage/sqlite/database';
import { closeBeside } from '#storage/sqlite/file-owner';
import { FilePlace } from '#storage/sqlite/file-place';
import { markClosed } from '#storage/sqlite/file-schema';
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

/** How often a thread that reads looks whether the file is at its path, in milliseconds. Chosen. */
const LOOK_MS = 100;

function serve(
  port: MessagePort,
  { file, opened, closes }: ThreadData,
  database: DatabaseSync,
): void {
  const place = opened && new FilePlace(file, opened);
  const queue = new WriteQueue(database, place);
  let lookedMs = Number.NEGATIVE_INFINITY;
  const assertHere = () => {
    // Two calls of the system for each read would show; a write has its own look after each commit.
    const nowMs = performance.now();
    if (place === undefined || (!place.isAway && nowMs - lookedMs < LOOK_MS)) return;
    place.assertHere();
    lookedMs = nowMs;
  };
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
        assertHere();
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
        if (closes === 'served') markClosed(database);
        if (closes === 'tool') closeBeside(database, file);
        else database.close();
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

/** Answers every request with the reason why the file cannot be opened. */
function refuseAll(port: MessagePort, error: unknown): void {
  const failure = failureOf(error, false);
  port.on('message', ({ id, kind }: ThreadRequest) => {
    const answer: ThreadAnswer =
      kind === 'close' ? { id, kind: 'done' } : { id, kind: 'failed', failure };
    port.postMessage(answer);
    if (kind === 'close') port.close();
  });
}

/** Opens the file and serves it; a file that cannot be opened refuses every request. */
function start(port: MessagePort, data: ThreadData): void {
  let database: DatabaseSync;
  try {
    database = openConnection(data.file);
  } catch (error) {
    refuseAll(port, error);
    return;
  }
  serve(port, data, database);
}

if (parentPort !== null) start(parentPort, workerData as ThreadData);
