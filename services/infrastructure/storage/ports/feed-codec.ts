import { ByteWriter, CorruptState, readerOf } from '#storage/ports/bytes';
import {
  FEED_AGE_MS,
  FEED_CHUNK_ROWS,
  type FeedChunk,
  type FeedHead,
  type FeedHour,
  type FeedRow,
  type Transition,
} from '#storage/ports/feeds';
import { ENDPOINTS_MAX, type KeptEndpoint, keptFromJson } from '#webhooks/endpoint';

/**
 * Format number in the first byte of a stored head or chunk. Any change of a row or of the layout
 * needs a new format number.
 */
const FORMAT = 1;

/** Length of an hour, in milliseconds. */
export const HOUR_MS = 3_600_000;

/** Maximum number of hours in a head. The first and the last hour may be parts of hours. */
const HOURS_MAX = FEED_AGE_MS / HOUR_MS + 1;

/** Size of the fields of a row, an hour and a head, as JSON lists. */
const [ROW_FIELDS, HOUR_FIELDS, HEAD_FIELDS] = [4, 2, 5] as const;

/** Numbers of a transition before its values: the position of its type, and the cycle. */
const TRANSITION_NUMBERS = 2;

const writer = new ByteWriter();

/** Number of the chunk that holds the row at a position. */
export function chunkOf(position: number): number {
  return Math.floor(position / FEED_CHUNK_ROWS);
}

/**
 * Encodes a head: its version, and the other fields as a JSON list. A row takes about 80 bytes.
 * Throws an Error for a head that `decodeFeedHead` would refuse.
 */
export function encodeFeedHead(head: FeedHead): Buffer {
  assertHead(head);
  const { version, next, floor, hours, newest, endpoints } = head;
  const json = JSON.stringify([next, floor, hours, newest, endpoints]);
  return writer.begin(FORMAT).number(version).text(json).end();
}

/** Decodes the stored head of an account's feed. Throws `CorruptState`. */
export function decodeFeedHead(accountId: string, bytes: unknown): FeedHead {
  const what = `the feed of ${accountId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const version = reader.number();
  const json = reader.text();
  reader.end();
  return checked(what, () => {
    const fields = listIn(JSON.parse(json), HEAD_FIELDS, 'the head');
    const [next, floor, hours, newest, endpoints] = fields;
    const head = { version, next, floor, hours, newest, endpoints } as FeedHead;
    assertHead(head);
    return { ...head, endpoints: head.endpoints.map(keptFromJson) };
  });
}

/**
 * Encodes a chunk: its number, and its rows as a JSON list. Throws an Error for a chunk that
 * `decodeFeedChunk` would refuse.
 */
export function encodeFeedChunk({ chunk, rows }: FeedChunk): Buffer {
  assertChunk(rows);
  return writer.begin(FORMAT).number(chunk).text(JSON.stringify(rows)).end();
}

/**
 * Decodes a stored chunk of an account's feed. `chunk` is the number in the storage key. Throws
 * `CorruptState`, also for a chunk with another number.
 */
export function decodeFeedChunk(accountId: string, chunk: number, bytes: unknown): FeedChunk {
  const what = `chunk ${chunk} of the feed of ${accountId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const found = reader.number();
  const json = reader.text();
  reader.end();
  if (found !== chunk) throw new CorruptState(`${what} has the number ${found}`);
  return checked(what, () => {
    const rows: readonly FeedRow[] = JSON.parse(json);
    assertChunk(rows);
    return { chunk, rows };
  });
}

function checked<Value>(what: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    throw new CorruptState(`${what} cannot be read`, { cause });
  }
}

function assertHead({ version, next, floor, hours, newest, endpoints }: FeedHead): void {
  for (const [name, value] of Object.entries({ version, next, floor })) {
    if (!isCount(value)) throw invalid(`${name} is ${String(value)}`);
  }
  if (floor > next) throw invalid(`the floor ${floor} is above the next position ${next}`);
  assertRows(newest);
  if (newest.length >= FEED_CHUNK_ROWS) {
    throw invalid(`${newest.length} rows are in no chunk, above ${FEED_CHUNK_ROWS - 1}`);
  }
  if ((next - newest.length) % FEED_CHUNK_ROWS !== 0) {
    throw invalid(`${newest.length} rows up to position ${next} do not follow a whole chunk`);
  }
  assertHours(hours, floor, next);
  assertEndpoints(endpoints, next);
}

/** Asserts that the hours are in order, and that the rows from the floor on have an hour. */
function assertHours(hours: readonly FeedHour[], floor: number, next: number): void {
  if (!Array.isArray(hours)) throw invalid('the hours are not a list');
  if (hours.length > HOURS_MAX) throw invalid(`there are ${hours.length} hours`);
  let [lastHour, lastFirst] = [-1, -1];
  for (const each of hours) {
    const [hour, first] = listIn(each, HOUR_FIELDS, 'an hour');
    if (!isCount(hour) || !isCount(first)) throw invalid(`hour ${hour} begins at ${first}`);
    if (hour <= lastHour || first <= lastFirst || first >= next) {
      throw invalid(`hour ${hour} begins at ${first}, after hour ${lastHour} at ${lastFirst}`);
    }
    [lastHour, lastFirst] = [hour, first];
  }
  const start = hours[0]?.[1] ?? next;
  if (floor < start) throw invalid(`the hours begin at ${start}, above the floor ${floor}`);
}

/** Asserts what positions depend on. Only `FeedKind` writes endpoints, so their types are trusted. */
function assertEndpoints(endpoints: readonly KeptEndpoint[], next: number): void {
  if (!Array.isArray(endpoints)) throw invalid('the endpoints are not a list');
  if (endpoints.length > ENDPOINTS_MAX) throw invalid(`there are ${endpoints.length} endpoints`);
  for (const kept of endpoints) {
    const id: unknown = kept?.endpoint?.id;
    const cursor: unknown = kept?.progress?.cursor;
    if (typeof id !== 'string') throw invalid('an endpoint has no id');
    if (!isCount(cursor) || cursor > next) {
      throw invalid(`endpoint ${id} is at position ${String(cursor)}, and the next is ${next}`);
    }
    const { held, failed } = kept.progress;
    if (!Array.isArray(held) || !Array.isArray(failed)) {
      throw invalid(`endpoint ${id} has no lists of held and failed rows`);
    }
  }
}

function assertChunk(rows: readonly FeedRow[]): void {
  assertRows(rows);
  if (rows.length === FEED_CHUNK_ROWS) return;
  throw invalid(`the chunk has ${rows.length} rows, not ${FEED_CHUNK_ROWS}`);
}

function assertRows(rows: readonly FeedRow[]): void {
  if (!Array.isArray(rows)) throw invalid('the rows are not a list');
  for (const row of rows) {
    const [instanceId, version, atMs, transitions] = listIn(row, ROW_FIELDS, 'a row');
    if (typeof instanceId !== 'string' || instanceId === '') {
      throw invalid(`the instance of a row is ${String(instanceId)}`);
    }
    if (!isCount(version)) throw invalid(`a row of ${instanceId} has version ${String(version)}`);
    if (!isCount(atMs)) throw invalid(`a row of ${instanceId} has time ${String(atMs)}`);
    if (!Array.isArray(transitions) || !transitions.every(isTransition)) {
      throw invalid(`a transition of ${instanceId} is not a list of numbers`);
    }
  }
}

function isTransition(numbers: unknown): numbers is Transition {
  if (!Array.isArray(numbers) || numbers.length < TRANSITION_NUMBERS) return false;
  return numbers.every(Number.isFinite) && numbers.slice(0, TRANSITION_NUMBERS).every(isCount);
}

/** Returns a value if it is a list of this length. Otherwise throws an Error. */
function listIn(value: unknown, length: number, what: string): readonly unknown[] {
  if (Array.isArray(value) && value.length === length) return value;
  throw invalid(`${what} is not a list of ${length}`);
}

/** Whether a value is a safe integer from 0 on. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function invalid(what: string): Error {
  return new Error(`a stored feed is invalid: ${what}`);
}
