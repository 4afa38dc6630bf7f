import type { types } from 'cassandra-driver';
import { Fault } from '#errors/fault';
import type {
  CassandraSession,
  ObserveStatement,
  Statement,
  StatementOptions,
} from '#storage/cassandra/session';
import { statementDurations } from '#storage/ports/schema-versions';
import type { Dependency } from '#telemetry/dependency';
import type { Metrics } from '#telemetry/metrics';

/**
 * Reasons for using a second server. Each counter starts at 0, so that its first increase is
 * visible.
 */
const REASONS = ['slow', 'error'] as const satisfies readonly Parameters<ObserveStatement>[3][];

/**
 * Returns an observer that times every statement, counts uses of a second server, and reports
 * outages. A refusal by Cassandra is also an answer.
 */
export function statementObserver(metrics: Metrics, dependency: Dependency): ObserveStatement {
  const observe = statementDurations(metrics, 'cassandra');
  const secondServers = metrics.counter('db_client_second_server_total');
  const shown = new Set<string>();
  return (operation, seconds, errorType, secondServer) => {
    observe(operation, seconds, errorType);
    const isAnswered = errorType === undefined || errorType === 'refused';
    if (!isAnswered) dependency.unanswered(errorType, seconds);
    else if (dependency.unansweredCount > 0) dependency.answered();
    if (!shown.has(operation)) {
      shown.add(operation);
      for (const reason of REASONS) secondServers.inc({ db_operation_name: operation, reason }, 0);
    }
    if (secondServer === undefined) return;
    secondServers.labels({ db_operation_name: operation, reason: secondServer }).inc();
  };
}

/**
 * Result of a conditional statement. `row`: columns of the condition after a refusal, if the row
 * exists.
 */
type ConditionalAnswer =
  | { readonly isApplied: true }
  | { readonly isApplied: false; readonly row: types.Row | undefined };

/**
 * Reads the result of a conditional statement from its column `[applied]`. The driver's
 * `wasApplied()` is also true for an answer without rows. Throws `service_unavailable` with
 * `isOutcomeUnknown` if the column is missing.
 */
export function conditionalAnswerOf(result: types.ResultSet): ConditionalAnswer {
  const row = result.rows[0];
  const isApplied: unknown = row?.['[applied]'];
  if (isApplied === true) return { isApplied };
  if (isApplied === false) {
    return { isApplied, row: result.columns.length > 1 ? row : undefined };
  }
  throw new Fault(
    'service_unavailable',
    'the store did not report whether the change was applied',
    {
      isOutcomeUnknown: true,
    },
  );
}

/**
 * Maximum size of a batch, in bytes. A batch for a single partition could be larger. Source:
 * architecture 3.2.
 */
const BATCH_BYTES_MAX = 60 * 1_024;

/** Size of a row in a batch without its value, in bytes: key, timestamp, statement id. */
const ROW_BYTES = 96;

/** A statement that writes one row, the partition it goes to, and the bytes of its value. */
export type RowWrite = {
  readonly partition: number;
  readonly statement: Statement;
  readonly valueBytes: number;
};

/**
 * Writes rows in their order. Rows of one partition share a batch up to `bytesMax`. Each batch is
 * sent after the previous batch is confirmed. Rejects with the first fault; some rows may have been
 * written by then. Reads `writes` batch by batch, so that a long list does not block the event
 * loop.
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

/**
 * Batches of adjacent rows in the same partition, up to `bytesMax`. A larger row gets its own
 * batch.
 */
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

/** Like `Promise.all`, but rejects only after all promises have ended. */
export async function allDone(pending: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(pending)) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
}
