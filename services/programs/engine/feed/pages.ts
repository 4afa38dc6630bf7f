import { crc32 } from 'node:zlib';
import { ANSWERED_BEFORE_MS, type EventWaiters } from '#engine/events/pages';
import type { FeedView, LookFrom } from '#engine/feed/feed';
import { type Fault, faultFor } from '#errors/fault';
import { bodyText, type EngineAnswer, type FeedQuestion, plainAnswer } from '#grpc/engine-messages';
import { unusableCursor } from '#grpc/list-cursor';
import { TRANSITIONS, type Transition, transitionFields } from '#identity/transitions';
import { type Clock, isoTime } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import { FEED_CHUNK_ROWS, type FeedRow, type FeedStore } from '#storage/ports/feeds';

/**
 * Maximum number of rows that one answer looks at. An answer that finds nothing among them is
 * empty, and its cursor is behind them.
 */
export const LOOKED_ROWS_MAX = 2_048;

/** Number of stored rows that an answer with a small limit looks at. */
export const LOOKED_ROWS_MIN = 512;

/** Maximum bytes of the events in an answer. The first event is sent in any size. */
export const PAGE_BYTES_MAX = 1_024 * 1_024;

/** Position of the next transition: its row, and its place among the transitions of the row. */
export type Place = { readonly seq: number; readonly index: number };

/** A position that a reader sent. `digest` is of the last row that the reader has seen. */
type FeedCursor = Place & { readonly digest: number };

/** Dependencies of a page. */
export type FeedPageParts = {
  readonly accountId: string;
  readonly store: FeedStore;
  /** Asks the account's feed for a view from a position on, with at most `count` rows. */
  readonly look: (from: LookFrom, count: number) => Promise<FeedView>;
};

/**
 * Events of an account's feed after a cursor, as the body of a page or as text of server-sent
 * events. Always has a next cursor, also if nothing is found.
 *
 * Throws `cursor_expired` if rows after the cursor are no longer kept, or if the feed was restored
 * from a backup since. A stream gets the event `gap` instead, and goes on at the oldest row.
 */
export async function feedAnswer(
  question: FeedQuestion,
  parts: FeedPageParts,
): Promise<EngineAnswer> {
  const { cursor: text, from, isStream } = question;
  const { accountId } = parts;
  const cursor = text === undefined ? undefined : cursorFrom(text, accountId);
  const view = await parts.look(cursor?.seq ?? from, LOOKED_ROWS_MAX);
  if (cursor === undefined) return pageFrom({ seq: view.from, index: 0 }, view, question, parts);
  if (await isKnown(cursor, view, parts)) return pageFrom(cursor, view, question, parts, text);
  if (!isStream) throw expired();
  const oldest = await parts.look('oldest', LOOKED_ROWS_MAX);
  const place = { seq: oldest.from, index: 0 };
  const answer = await pageFrom(place, oldest, question, parts);
  // The digest of a position at the floor is not compared.
  const gap = `id: ${cursorText(place, 0, accountId)}\n${GAP}`;
  return { ...answer, body: `${gap}${bodyText(answer)}`, isQuiet: false };
}

/** Event of a stream that has missed rows. */
const GAP = 'event: gap\ndata: {"reason":"cursor_expired"}\n\n';

/** Answer with the events from a place on. `text`: cursor of the place, if the reader sent one. */
async function pageFrom(
  place: Place,
  view: FeedView,
  question: FeedQuestion,
  parts: FeedPageParts,
  text?: string,
): Promise<EngineAnswer> {
  const page = new FeedPage(question, parts.accountId, place);
  const looked = Math.min(LOOKED_ROWS_MAX, Math.max(LOOKED_ROWS_MIN, 2 * question.limit));
  page.add(await rowsIn(view, parts, looked));
  const next =
    page.cursor ??
    text ??
    cursorText(place, digestOf(await rowBefore(place, view, parts)), parts.accountId);
  const hasMore = page.place.seq < view.next;
  const body = question.isStream ? page.streamText(next) : page.json(next, hasMore);
  return { ...plainAnswer(body), next, isQuiet: page.isEmpty && !hasMore };
}

/**
 * Whether the feed continues after a cursor. A feed that was restored from a backup may have given
 * the position of the cursor to another row.
 */
export async function isKnown(
  cursor: FeedCursor,
  view: FeedView,
  parts: FeedPageParts,
): Promise<boolean> {
  const { seq, index, digest } = cursor;
  if (seq < view.floor || seq > view.next || (seq === view.next && index > 0)) return false;
  const seen = await rowBefore(cursor, view, parts);
  // The row before the floor may be gone, and then its digest was unknown. A reader at the floor
  // misses nothing.
  if (seen === undefined || digest === 0) return seq === view.floor || digest === 0;
  return digestOf(seen) === digest;
}

/** Last row that a reader at a place has seen; undefined if there is none. */
export async function rowBefore(
  { seq, index }: Place,
  view: FeedView,
  parts: FeedPageParts,
): Promise<FeedRow | undefined> {
  const last = index > 0 ? seq : seq - 1;
  if (last >= view.start) return index > 0 ? view.rows[0] : view.previous;
  if (last < view.floor) return undefined;
  return (await storedRows(last, view, parts, 1))[0];
}

/**
 * Rows from the position of a view on, from memory or from stored chunks, which may have more than
 * `count` rows. Throws a Fault if the floor has passed the position.
 */
export async function rowsIn(
  view: FeedView,
  parts: FeedPageParts,
  count: number,
): Promise<readonly FeedRow[]> {
  return view.from < view.start ? await storedRows(view.from, view, parts, count) : view.rows;
}

/** Rows from a position before `view.start` on, from stored chunks. */
async function storedRows(
  seq: number,
  { start }: FeedView,
  { accountId, store, look }: FeedPageParts,
  count: number,
): Promise<readonly FeedRow[]> {
  const first = Math.floor(seq / FEED_CHUNK_ROWS);
  const last = Math.min(start, Math.ceil((seq + count) / FEED_CHUNK_ROWS) * FEED_CHUNK_ROWS);
  const end = last / FEED_CHUNK_ROWS - 1;
  const chunks = await store.readChunks(accountId, first, end);
  if (chunks.length !== end - first + 1) {
    // The floor may have passed the rows meanwhile.
    if (seq < (await look('oldest', 0)).floor) throw expired();
    throw new CorruptState(`chunks of the feed of ${accountId} are missing`);
  }
  return chunks.flatMap(({ rows }) => rows).slice(seq - first * FEED_CHUNK_ROWS);
}

/** Events for an answer, and the place after them. */
class FeedPage {
  readonly #question: FeedQuestion;
  readonly #accountId: string;
  readonly #events: string[] = [];
  #bytes = 0;
  #count = 0;
  #place: Place;
  #digest: number | undefined;

  constructor(question: FeedQuestion, accountId: string, place: Place) {
    this.#question = question;
    this.#accountId = accountId;
    this.#place = place;
  }

  /** Place after the rows that were looked at. */
  get place(): Place {
    return this.#place;
  }

  /** Cursor after the rows that were looked at; undefined if there were none. */
  get cursor(): string | undefined {
    if (this.#digest === undefined) return undefined;
    return cursorText(this.#place, this.#digest, this.#accountId);
  }

  /** Whether no event was found. */
  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Adds the events of rows from the present place on, until the page is full. */
  add(rows: readonly FeedRow[]): void {
    for (const row of rows) {
      const [, , , transitions] = row;
      for (const [index, transition] of transitions.entries()) {
        if (index < this.#place.index) continue;
        if (this.#isFull) return;
        this.#digest = digestOf(row);
        this.#place = placeAfter(this.#place.seq, index, transitions.length);
        if (this.#isWanted(transition)) this.#push(row, index, transition);
      }
    }
  }

  json(next: string, hasMore: boolean): string {
    const { limit } = this.#question;
    const pagination = JSON.stringify({ limit, has_more: hasMore, next_cursor: next });
    return `{"data":[${this.#events.join(',')}],"pagination":${pagination}}`;
  }

  /** The id at the end moves a reader past rows that its filter hides. */
  streamText(next: string): string {
    return `${this.#events.join('')}id: ${next}\n\n`;
  }

  get #isFull(): boolean {
    const { limit } = this.#question;
    return this.#count >= limit || this.#bytes >= PAGE_BYTES_MAX;
  }

  #isWanted([type]: readonly number[]): boolean {
    return (this.#question.types & (1 << (type ?? 0))) !== 0;
  }

  #push(row: FeedRow, index: number, transition: readonly number[]): void {
    const data = JSON.stringify(eventOf(row, index, transition));
    this.#bytes += data.length;
    this.#count += 1;
    if (!this.#question.isStream) {
      this.#events.push(data);
      return;
    }
    const name = TRANSITIONS[transition[0] ?? 0];
    this.#events.push(`id: ${this.cursor}\nevent: ${name}\ndata: ${data}\n\n`);
  }
}

function placeAfter(seq: number, index: number, count: number): Place {
  return index + 1 < count ? { seq, index: index + 1 } : { seq: seq + 1, index: 0 };
}

/** Number of transitions of the wanted types in a row. */
export function wantedIn([, , , transitions]: FeedRow, types: number): number {
  return transitions.filter(([type = 0]) => (types & (1 << type)) !== 0).length;
}

/** Events of a row, of the wanted types. */
export function eventsOf(row: FeedRow, types: number) {
  const [, , , transitions] = row;
  return transitions.flatMap((numbers, index) => {
    const [type = 0] = numbers;
    return (types & (1 << type)) === 0 ? [] : [eventOf(row, index, numbers)];
  });
}

/** An event as in the API. */
export function eventOf(
  [instanceId, version, atMs]: FeedRow,
  index: number,
  numbers: readonly number[],
) {
  const { type, ...fields } = transitionFields(numbers as unknown as Transition);
  return {
    id: `${instanceId}-${version}-${index}`,
    type,
    instance_id: instanceId,
    occurred_at: isoTime(atMs),
    ...fields,
  };
}

/** Digest of a row; 0 if there is no row. */
export function digestOf(row: FeedRow | undefined): number {
  if (row === undefined) return 0;
  const [instanceId, version, atMs] = row;
  return crc32(`${instanceId} ${version} ${atMs}`);
}

/** Refusal of a cursor whose events are no longer kept. */
export function expired(): Fault {
  const text = 'cursor: events after it are no longer kept; continue with start=oldest';
  return faultFor('cursor_expired', text, { field: 'cursor' });
}

/*
 * A cursor is base64url of a JSON list. Its checksum covers the account, so that a cursor of another
 * account and a damaged cursor are refused as invalid.
 */

/** Cursor of the events from a row on. `digest`: of the row before; 0: unknown. */
export function feedCursorText(seq: number, digest: number, accountId: string): string {
  return cursorText({ seq, index: 0 }, digest, accountId);
}

/** Text of a cursor. `digest`: of the row before the place; 0: unknown. */
export function cursorText({ seq, index }: Place, digest: number, accountId: string): string {
  const fields = [seq, index, digest];
  const list = [...fields, checksumOf(accountId, fields)];
  return Buffer.from(JSON.stringify(list)).toString('base64url');
}

/** Cursor from its text. Throws `invalid_parameter` for a damaged or foreign cursor. */
export function cursorFrom(text: string, accountId: string): FeedCursor {
  const [seq, index, digest, checksum] = numbersIn(text);
  const fields = [seq, index, digest];
  if (!fields.every(isCount) || checksumOf(accountId, fields) !== checksum) {
    throw unusableCursor('not a cursor of the events of this account');
  }
  const [first = 0, second = 0, third = 0] = fields;
  return { seq: first, index: second, digest: third };
}

function numbersIn(text: string): readonly unknown[] {
  const bytes = Buffer.from(text, 'base64url');
  // The decoder ignores characters that it does not expect.
  if (bytes.toString('base64url') !== text) return [];
  try {
    const list: unknown = JSON.parse(bytes.toString());
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function checksumOf(accountId: string, fields: readonly unknown[]): number {
  return crc32(JSON.stringify([accountId, ...fields]));
}

/** Dependencies of `awaitedFeed`. */
type AwaitedFeedParts = FeedPageParts & {
  readonly clock: Clock;
  readonly waiters: Pick<EventWaiters, 'watch'>;
  readonly shard: number;
  readonly deadlineAtMs: number;
};

/**
 * Long poll: answers as soon as the feed has events. Answers without events after the waiting time
 * of the question. Rejects like `feedAnswer`, and like the feed's gate if the shard leaves this node
 * meanwhile.
 */
export async function awaitedFeed(
  question: FeedQuestion,
  { clock, waiters, shard, deadlineAtMs, ...parts }: AwaitedFeedParts,
): Promise<EngineAnswer> {
  if (question.waitMs === 0) return await feedAnswer(question, parts);
  const leftMs = deadlineAtMs - clock.wallMs() - ANSWERED_BEFORE_MS;
  const endMs = clock.monotonicMs() + Math.min(question.waitMs, leftMs);
  // Begin to watch before the first read, so that no row after the read is missed.
  using watch = waiters.watch(parts.accountId, shard);
  let { cursor } = question;
  for (;;) {
    const answer = await feedAnswer({ ...question, cursor }, parts);
    const restMs = endMs - clock.monotonicMs();
    if (answer.isQuiet !== true || restMs <= 0 || !(await watch.change(restMs))) return answer;
    cursor = answer.next;
  }
}
