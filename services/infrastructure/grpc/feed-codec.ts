/* The log of transitions on the wire: rows between engines, and questions of an edge. */
import { CALL_TIMEOUT_MS_MAX, TIME_MS_MAX, TOKEN_LENGTH_MAX } from '#grpc/call-bounds';
import type { FeedQuestion, TransitionRow } from '#grpc/engine-messages';
import { trustInteger, trustText } from '#grpc/frame';
import type {
  RecordTransitions,
  ReadFeed as WireReadFeed,
  TransitionRow as WireRow,
} from '#grpc/gen/identity_engine/v1/engine';

/** Maximum number of rows in one call. */
const ROWS_MAX = 1_024;
/** Numbers per transition. */
const NUMBERS = 4;
/** Maximum transitions of a change: five per observation of a batch, and a further transition. */
const TRANSITIONS_MAX = 501;
/** Maximum number of events in an answer. */
const EVENTS_MAX = 1_000;
/** All types, as bits of a 32-bit integer. */
const TYPES_MAX = 2 ** 31 - 1;
/** Maximum length of a feed cursor, in UTF-16 units. */
export const CURSOR_LENGTH_MAX = 1_024;
/** Upper bound for the numbers and tags of one row, in bytes, rounded up. */
const ROW_BYTES = 32;
/** Upper bound for the numbers of one transition, in bytes, rounded up. */
const TRANSITION_BYTES = 24;

/** Encodes rows for `proto/`. */
export function rowsToWire(rows: readonly TransitionRow[]): RecordTransitions {
  return {
    rows: rows.map(([instanceId, version, atMs, transitions]) => {
      return { instanceId, version, atMs, numbers: transitions.flat() };
    }),
  };
}

/** Decodes rows. Throws `internal` for a value out of bounds. */
export function rowsFromWire({ rows }: RecordTransitions): TransitionRow[] {
  trustInteger(rows.length, 1, ROWS_MAX, 'number of rows');
  return rows.map(rowFromWire);
}

function rowFromWire({ instanceId, version, atMs, numbers }: WireRow): TransitionRow {
  const count = trustInteger(numbers.length / NUMBERS, 1, TRANSITIONS_MAX, 'transitions');
  for (const number of numbers) trustInteger(number, 0, Number.MAX_SAFE_INTEGER, 'transition');
  return [
    trustText(instanceId, 1, TOKEN_LENGTH_MAX, 'instance id'),
    trustInteger(version, 1, Number.MAX_SAFE_INTEGER, 'version'),
    trustInteger(atMs, 0, TIME_MS_MAX, 'time'),
    Array.from({ length: count }, (_, at) => numbers.slice(at * NUMBERS, (at + 1) * NUMBERS)),
  ];
}

/** Upper bound for the length of rows on the wire, in bytes. */
export function rowsLength(rows: readonly TransitionRow[]): number {
  let length = 0;
  for (const [id, , , transitions] of rows) {
    length += id.length + ROW_BYTES + transitions.length * TRANSITION_BYTES;
  }
  return length;
}

/** Encodes a question for `proto/`. */
export function feedToWire(question: FeedQuestion): WireReadFeed {
  const { cursor, from, limit, types, isStream, waitMs, isNewestFirst: newestFirst } = question;
  const fromNewest = from === 'newest';
  return { cursor, fromNewest, limit, types, stream: isStream, waitMs, newestFirst };
}

/** Decodes a question. Throws `internal` for a value out of bounds. */
export function feedFromWire(wire: WireReadFeed): FeedQuestion {
  const { cursor } = wire;
  if (cursor !== undefined) trustText(cursor, 0, CURSOR_LENGTH_MAX, 'cursor');
  return {
    cursor,
    from: wire.fromNewest ? 'newest' : 'oldest',
    limit: trustInteger(wire.limit, 1, EVENTS_MAX, 'limit'),
    types: trustInteger(wire.types, 0, TYPES_MAX, 'types'),
    isStream: wire.stream,
    waitMs: trustInteger(wire.waitMs, 0, CALL_TIMEOUT_MS_MAX, 'wait'),
    isNewestFirst: wire.newestFirst,
  };
}
