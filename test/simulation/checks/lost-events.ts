import { Violation } from '#test/simulation/stored/version-index';

/** Maximum number of listed failures of an endpoint. Older failures are dropped from the list. */
const FAILURES_LISTED_MAX = 200;

/** Maximum difference of the clocks of two engines, in milliseconds, with a reserve. */
const SKEW_MS_MAX = 1_000;

/** An event of the log. `position`: position of its change in the log. */
export type LoggedEvent = {
  readonly id: string;
  readonly type: string;
  readonly position: number;
  readonly occurredMs: number;
  readonly json: string;
};

/** A failed change as in the API. */
export type FailedChange = { readonly position: number; readonly failed_at: string };

/** Position in a cursor of the log. */
export function positionIn(cursor: string): number {
  const [position] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  return Number(position);
}

/**
 * Gives positions to all events of the log between two positions. The events of one change have
 * rising indices, and the same position. Throws a `Violation` if the log has a gap.
 */
export function numbered(
  events: readonly Readonly<Record<string, unknown>>[],
  from: number,
  to: number,
): LoggedEvent[] {
  let position = from - 1;
  let last = { change: '', index: 0 };
  const logged = events.map((event) => {
    const id = String(event['id']);
    const at = id.lastIndexOf('-');
    const [change, index] = [id.slice(0, at), Number(id.slice(at + 1))];
    // A take-over may repeat a change, at the next position too.
    if (change !== last.change || index <= last.index) position += 1;
    last = { change, index };
    const occurredMs = Date.parse(String(event['occurred_at']));
    return { id, type: String(event['type']), position, occurredMs, json: JSON.stringify(event) };
  });
  if (position + 1 === to) return logged;
  throw new Violation(`the log has changes up to position ${position}, but its end is ${to}`);
}

/** Events that were neither delivered nor listed as failed. */
export type Missing = {
  /** Events whose failure would be listed. */
  readonly lost: readonly LoggedEvent[];
  /** Number of events whose failure may have been dropped from a full list. */
  readonly excused: number;
};

/**
 * Finds events that were not delivered, although their change is not listed as failed (I5).
 * `failed`: newest first. A full list has dropped older failures. So an event may be missing if the
 * event is older than all listed failures.
 */
export function missingEvents(
  events: readonly LoggedEvent[],
  delivered: ReadonlyMap<string, string>,
  failed: readonly FailedChange[],
): Missing {
  const listed = new Set(failed.map(({ position }) => position));
  const missing = events.filter(({ id, position }) => !delivered.has(id) && !listed.has(position));
  const oldest = failed.length < FAILURES_LISTED_MAX ? undefined : failed.at(-1);
  if (oldest === undefined) return { lost: missing, excused: 0 };
  const oldestMs = Date.parse(oldest.failed_at) + SKEW_MS_MAX;
  const lost = missing.filter(({ occurredMs }) => occurredMs > oldestMs);
  return { lost, excused: missing.length - lost.length };
}
