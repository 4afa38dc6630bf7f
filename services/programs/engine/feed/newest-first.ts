/* The events of an account's feed from the newest to the oldest. */
import {
  cursorFrom,
  cursorText,
  digestOf,
  eventOf,
  eventsOf,
  expired,
  type FeedPageParts,
  isKnown,
  LOOKED_ROWS_MAX,
  LOOKED_ROWS_MIN,
  PAGE_BYTES_MAX,
  type Place,
  rowBefore,
  rowsIn,
} from '#engine/feed/pages';
import { type EngineAnswer, type FeedQuestion, plainAnswer } from '#grpc/engine-messages';
import type { FeedRow } from '#storage/ports/feeds';

/**
 * Events before a cursor, newest first, as the body of a page. Without a cursor, the page begins at
 * the newest event. A cursor is a position between two events, so the events after the same cursor
 * can be read too.
 *
 * Throws `cursor_expired` if the rows at the cursor are no longer kept, or if the feed was restored
 * from a backup since.
 */
export async function newestFirstAnswer(
  question: FeedQuestion,
  parts: FeedPageParts,
): Promise<EngineAnswer> {
  const { cursor: text, limit } = question;
  const { accountId } = parts;
  const cursor = text === undefined ? undefined : cursorFrom(text, accountId);
  const view = await parts.look(cursor?.seq ?? 'newest', 1);
  if (cursor !== undefined && !(await isKnown(cursor, view, parts))) throw expired();
  const end: Place = cursor ?? { seq: view.from, index: 0 };
  const looked = Math.min(LOOKED_ROWS_MAX, Math.max(LOOKED_ROWS_MIN, 2 * limit));
  const start = Math.max(view.floor, end.seq - looked);
  // One more row, for the digest of a cursor at the start.
  const first = Math.max(view.floor, start - 1);
  const rows = await rowsBetween(first, end.index > 0 ? end.seq + 1 : end.seq, parts);
  const { events, place } = eventsBefore(end, { rows, first, start }, question);
  const last = place.index > 0 ? place.seq : place.seq - 1;
  const pagination = JSON.stringify({
    limit,
    has_more: place.seq > view.floor || place.index > 0,
    next_cursor: cursorText(place, digestOf(rows[last - first]), accountId),
    newer_cursor: text ?? cursorText(end, digestOf(await rowBefore(end, view, parts)), accountId),
  });
  return plainAnswer(`{"data":[${events.join(',')}],"pagination":${pagination}}`);
}

/** Rows of a feed. `first`: position of the first row. `start`: position of the first wanted row. */
type Range = { readonly rows: readonly FeedRow[]; readonly first: number; readonly start: number };

/** JSON of the events before a place, newest first, and the place before the last of them. */
function eventsBefore(
  end: Place,
  range: Range,
  { types, limit }: Pick<FeedQuestion, 'types' | 'limit'>,
): { events: readonly string[]; place: Place } {
  const events: string[] = [];
  let bytes = 0;
  for (const [row, seq] of backwards(range)) {
    const [, , , transitions] = row;
    for (const [index, transition] of [...transitions.entries()].reverse()) {
      const isBefore = seq < end.seq || index < end.index;
      if (!isBefore || (types & (1 << (transition[0] ?? 0))) === 0) continue;
      const event = JSON.stringify(eventOf(row, index, transition));
      events.push(event);
      bytes += event.length;
      if (events.length >= limit || bytes >= PAGE_BYTES_MAX) {
        return { events, place: { seq, index } };
      }
    }
  }
  return { events, place: { seq: range.start, index: 0 } };
}

/** The wanted rows with their positions, newest first. */
function* backwards({ rows, first, start }: Range): Iterable<[FeedRow, number]> {
  for (let at = rows.length - 1; at >= start - first; at -= 1) {
    const row = rows[at];
    if (row !== undefined) yield [row, first + at];
  }
}

/** Newest events of these types before a position, newest first, among the rows just before it. */
export async function newestEvents(
  types: number,
  count: number,
  end: number,
  parts: FeedPageParts,
): Promise<readonly object[]> {
  const { floor } = await parts.look('oldest', 0);
  const rows = await rowsBetween(Math.max(floor, end - LOOKED_ROWS_MIN), end, parts);
  return rows
    .flatMap((row) => eventsOf(row, types))
    .slice(-count)
    .reverse();
}

/** Rows from a position to another, or fewer if the feed ends before. */
async function rowsBetween(
  first: number,
  end: number,
  parts: FeedPageParts,
): Promise<readonly FeedRow[]> {
  const rows: FeedRow[] = [];
  while (first + rows.length < end) {
    const view = await parts.look(first + rows.length, LOOKED_ROWS_MAX);
    const more = await rowsIn(view, parts, end - view.from);
    if (more.length === 0) break;
    rows.push(...more.slice(0, end - view.from));
  }
  return rows;
}
