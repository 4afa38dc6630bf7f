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

type Take = (request: ThreadRequest) => void;

/** Serves requests with a connection of the file. */
function serverOf(
  port: MessagePort,
  { file, closes }: ThreadData,
  place: FilePlace | undefined,
  database: DatabaseSync,
): Take {
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

  return (request) => {
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
}

function failureOf(error: unknown, isOutcomeUnknown: boolean): ThreadFailure {
  const message = error instanceof Error ? error.message : String(error);
  return { message, code: resultCodeOf(error), isOutcomeUnknown };
}

/**
 * Opens the file and serves requests. A file that cannot be opened, or that is not the one that the
 * process serves, refuses each request; the next request tries again.
 */
function start(port: MessagePort, data: ThreadData): void {
  const place = data.opened && new FilePlace(data.file, data.opened);
  let serving: Take | undefined;
  const open = (): Take => {
    // SQLite would take the WAL of the served file for that of the file at the path.
    place?.assertHere();
    return serverOf(port, data, place, openConnection(data.file));
  };
  const take = (request: ThreadRequest): void => {
    const { id, kind } = request;
    if (kind === 'close' && serving === undefined) {
      port.postMessage({ id, kind: 'done' } satisfies ThreadAnswer);
      port.close();
      return;
    }
    serving ??= open();
    serving(request);
  };
  port.on('message', (request: ThreadRequest) => {
    try {
      take(request);
    } catch (error) {
      const failure = failureOf(error, false);
      port.postMessage({ id: request.id, kind: 'failed', failure } satisfies ThreadAnswer);
    }
  });
  try {
    serving = open();
  } catch {
    // The first request says why.
  }
}

if (parentPort !== null) start(parentPort, workerData as ThreadData);
