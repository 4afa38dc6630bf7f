import { ByteWriter, CorruptState, readerOf } from '#storage/ports/bytes';
import {
  type FinishedMonth,
  KEY_PREFIX_LENGTH,
  type KeyCycles,
  type MeterHead,
  type MeterRecord,
  MONTHS_KEPT,
  type StoredReservation,
} from '#storage/ports/meters';

/** What the first byte of a stored meter says. A change of its row or of the layout is another format. */
const FORMAT = 1;

const writer = new ByteWriter();

/** A head as it is stored: its version and, as JSON, the row that the journal has too; about 80 bytes. */
export function encodeMeter(head: MeterHead): Buffer {
  const json = JSON.stringify(rowOfMeter(head));
  return writer.begin(FORMAT).number(head.version).text(json).end();
}

/** The head of an account's meter from its stored bytes. Throws `CorruptState`. */
export function decodeMeter(accountId: string, bytes: unknown): MeterHead {
  const what = `the meter of ${accountId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const version = reader.number();
  const json = reader.text();
  reader.end();
  return { version, ...recordOf(json, what) };
}

/** A finished month as it is stored: as JSON, the row that heads have of it too. */
export function encodeMonth(month: FinishedMonth): Buffer {
  return writer
    .begin(FORMAT)
    .text(JSON.stringify(rowOfMonth(month)))
    .end();
}

/** A finished month of an account from its stored bytes. Throws `CorruptState`. */
export function decodeMonth(accountId: string, bytes: unknown): FinishedMonth {
  const what = `a month of ${accountId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const json = reader.text();
  reader.end();
  const month = monthIn(json);
  if (month === undefined) throw new CorruptState(`${what} cannot be read`);
  return month;
}

function monthIn(json: string): FinishedMonth | undefined {
  try {
    return monthOf(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function recordOf(json: string, what: string): MeterRecord {
  try {
    return meterOfRow(JSON.parse(json));
  } catch (cause) {
    throw new CorruptState(`${what} cannot be read`, { cause });
  }
}

/*
 * What stands in an object at the end of a meter's row: only what may be lost, because a release that does
 * not know it leaves it out (decision 240).
 */

/** A key: its prefix, its cycles, and the days of these behind them. */
type KeyRow = readonly (string | number)[];

/** A finished month: its end, its cycles, their days, and its keys. */
type MonthRow = readonly [
  endsAtMs: number,
  cycles: number,
  days: readonly number[],
  keys: readonly KeyRow[],
];

/** The object, with no more than there is. */
type MeterAddition = {
  readonly days?: readonly number[];
  readonly keys?: readonly KeyRow[];
  /** Of each reservation the place of its key in `keys`; -1: it has none. */
  readonly of?: readonly number[];
  readonly finished?: readonly MonthRow[];
  readonly unrecorded?: number;
};

/** Days of the longest month. */
const DAYS_MAX = 31;

/** Keys of one list: more than a meter counts. */
const KEYS_MAX = 256;

const PREFIX = new RegExp(`^[\\w-]{${KEY_PREFIX_LENGTH}}$`);

/** The addition of a record; undefined: there is nothing to add. */
function additionOf({
  days,
  keys,
  finished,
  unrecorded,
  reservations,
}: MeterRecord): MeterAddition | undefined {
  if ([days, keys, finished, unrecorded].every((part) => part === undefined)) return undefined;
  const isOfKeys = reservations.some(({ key }) => key !== undefined);
  const placeOf = ({ key }: StoredReservation) =>
    keys?.findIndex(({ prefix }) => prefix === key) ?? -1;
  return {
    ...(days !== undefined && { days }),
    ...(keys !== undefined && { keys: keys.map(rowOfKey) }),
    ...(isOfKeys && { of: reservations.map(placeOf) }),
    ...(finished !== undefined && { finished: finished.map(rowOfMonth) }),
    ...(unrecorded !== undefined && { unrecorded }),
  };
}

/** What an addition says of a record, of each part as far as it makes sense. */
function readAddition(
  addition: object | undefined,
  { cyclesUsed, windowWatermark }: Pick<MeterRecord, 'cyclesUsed' | 'windowWatermark'>,
): Pick<MeterRecord, 'days' | 'keys' | 'finished' | 'unrecorded'> {
  const { days, keys, finished, unrecorded } = partsOf(addition);
  const known = {
    days: daysOf(days, cyclesUsed),
    keys: keysOf(keys, cyclesUsed),
    finished: Array.isArray(finished) ? listOf(finished, monthOf, MONTHS_KEPT) : undefined,
  };
  return {
    ...(known.days && { days: known.days }),
    ...(known.keys && { keys: known.keys }),
    ...(known.finished && { finished: known.finished }),
    ...(isCount(unrecorded) && unrecorded <= windowWatermark && { unrecorded }),
  };
}

/** The reservations, each with the key that an addition says it is of. */
function withKeys(
  reservations: readonly StoredReservation[],
  addition: object | undefined,
  keys: readonly KeyCycles[] | undefined,
): readonly StoredReservation[] {
  const { of } = partsOf(addition);
  if (keys === undefined || !Array.isArray(of)) return reservations;
  return reservations.map((reservation, index) => {
    const key = keys[Number(of[index])]?.prefix;
    return key === undefined ? reservation : { ...reservation, key };
  });
}

/** Whether a value is a whole number from 0 on. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function rowOfKey({ prefix, cycles, days = [] }: KeyCycles): KeyRow {
  return [prefix, cycles, ...days];
}

/** A finished month as rows have it. */
function rowOfMonth({ endsAtMs, cyclesUsed, days, keys }: FinishedMonth): MonthRow {
  return [endsAtMs, cyclesUsed, days, keys.map(rowOfKey)];
}

/** The finished month that a row is; undefined: it is none. */
function monthOf(row: unknown): FinishedMonth | undefined {
  if (!Array.isArray(row)) return undefined;
  const [endsAtMs, cyclesUsed, someDays, someKeys]: readonly unknown[] = row;
  if (!isCount(endsAtMs) || !isCount(cyclesUsed)) return undefined;
  const days = daysOf(someDays, cyclesUsed);
  const keys = keysOf(someKeys, cyclesUsed);
  return days && keys && { endsAtMs, cyclesUsed, days, keys };
}

function partsOf(addition: object = {}): Readonly<Partial<Record<keyof MeterAddition, unknown>>> {
  return addition;
}

/** Keys that have used no more than all of it; undefined where they are none. */
function keysOf(rows: unknown, used: number): readonly KeyCycles[] | undefined {
  if (!Array.isArray(rows)) return undefined;
  const keys = listOf(rows, keyOf, KEYS_MAX);
  if (keys === undefined) return undefined;
  const sum = keys.reduce((total, { cycles }) => total + cycles, 0);
  const isDistinct = new Set(keys.map(({ prefix }) => prefix)).size === keys.length;
  return isDistinct && sum <= used ? keys : undefined;
}

function keyOf(row: unknown): KeyCycles | undefined {
  if (!Array.isArray(row)) return undefined;
  const [prefix, cycles, ...some]: readonly unknown[] = row;
  if (typeof prefix !== 'string' || !PREFIX.test(prefix) || !isCount(cycles)) return undefined;
  if (some.length === 0) return cycles === 0 ? { prefix, cycles } : undefined;
  const days = daysOf(some, cycles);
  return days && { prefix, cycles, days };
}

/** All of them; undefined where one is none, or they are too many. */
function listOf<Item>(
  rows: readonly unknown[],
  read: (row: unknown) => Item | undefined,
  max: number,
): readonly Item[] | undefined {
  const items = rows.map(read).filter((item) => item !== undefined);
  return items.length === rows.length && items.length <= max ? items : undefined;
}

/** Ascending counts behind the index of a day; undefined where they are none. */
function daysOf(days: unknown, used: number): readonly number[] | undefined {
  if (!Array.isArray(days) || days.length === 0 || days.length > DAYS_MAX) return undefined;
  const [first, ...ends]: readonly unknown[] = days;
  const isDay = isCount(first) && first + ends.length < DAYS_MAX;
  const counts = [0, ...ends, used];
  const isAscending = counts.every(
    (count, index) => isCount(count) && count >= Number(counts[index - 1] ?? 0),
  );
  return isDay && isAscending ? days : undefined;
}

/**
 * Reservations of one record: as many as a meter may have open, though a closing record takes fewer
 * along. Each is some 30 characters of a row, a keyed one some 50, and 120 if its numbers are the
 * largest that there are.
 */
export const STORED_RESERVATIONS_MAX = 16_384;

/** What a row begins with, in this order. A change of it is another format wherever rows lie. */
const COUNTS = [
  'monthEndsAtMs',
  'monthWatermark',
  'cyclesUsed',
  'cyclesExpired',
  'cyclesLost',
  'windowEndsAtMs',
  'windowWatermark',
] as const satisfies readonly (keyof MeterRecord)[];

/** Numbers of one reservation behind the counts, the tag of a keyed call not counted. */
const RESERVATION_NUMBERS = 6;

/** A record as one list: its numbers, and at its end what may be lost, if there is any. */
export type MeterRow = readonly (number | MeterAddition)[];

/**
 * A record as one list of numbers, for journals and heads: the counts, then six for each
 * reservation. Before those of a keyed call stands its tag, negative: nothing else is, so rows from
 * before there were tags read as what they are. The two times are differences, because they are large and nearly alike: how long
 * before the record's month its own ended, and how long after the one before it expires. At the end stands
 * the addition, if there is any.
 *
 * Throws an Error for a record that `meterOfRow` would refuse: once it is durable it is too late.
 */
export function rowOfMeter(record: MeterRecord): MeterRow {
  assertSensible(record);
  const row: number[] = COUNTS.map((field) => record[field]);
  let expiredBeforeMs = 0;
  for (const { callId, callTag, cycles, used, callsOpen, ...times } of record.reservations) {
    const monthsMs = record.monthEndsAtMs - times.monthEndsAtMs;
    if (callTag > 0) row.push(-callTag);
    row.push(callId, cycles, used, callsOpen, monthsMs, times.expiresAtMs - expiredBeforeMs);
    expiredBeforeMs = times.expiresAtMs;
  }
  const addition = additionOf(record);
  return addition === undefined ? row : [...row, addition];
}

/**
 * The record that a row is. Of an object at its end is taken what makes sense; the rest is what a later
 * release adds, and passed over. Throws an Error, which names what is wrong, when the row
 * makes no sense.
 */
export function meterOfRow(row: unknown): MeterRecord {
  const { list, addition } = dividedRow(row);
  const numbers = numbersOf(list);
  const counts = COUNTS.map((field, index) => [field, numbers[index]]);
  const { monthEndsAtMs, ...others }: Omit<MeterRecord, 'reservations'> =
    Object.fromEntries(counts);
  const added = readAddition(addition, others);
  const listed = reservationsOf(numbers, monthEndsAtMs);
  const reservations = withKeys(listed, addition, added.keys);
  const record = { monthEndsAtMs, ...others, ...added, reservations };
  assertSensible(record);
  return record;
}

function dividedRow(row: unknown): { list: unknown; addition: object | undefined } {
  if (!Array.isArray(row)) return { list: row, addition: undefined };
  const last: unknown = row.at(-1);
  const isAdded = typeof last === 'object' && last !== null && !Array.isArray(last);
  return isAdded ? { list: row.slice(0, -1), addition: last } : { list: row, addition: undefined };
}

function numbersOf(row: unknown): readonly number[] {
  if (!Array.isArray(row)) throw nonsense('the row is no list');
  if (row.length < COUNTS.length) throw nonsense(`the row has ${row.length} numbers`);
  const strange = row.findIndex((value) => !Number.isSafeInteger(value));
  if (strange !== -1) throw nonsense(`number ${strange} of the row is ${String(row[strange])}`);
  return row;
}

function reservationsOf(numbers: readonly number[], monthEndsAtMs: number): StoredReservation[] {
  const reservations: StoredReservation[] = [];
  let expiresAtMs = 0;
  let at: number = COUNTS.length;
  while (at < numbers.length) {
    const first = numbers[at] ?? 0;
    const callTag = first < 0 ? -first : 0;
    if (first < 0) at += 1;
    if (at + RESERVATION_NUMBERS > numbers.length) {
      throw nonsense(`the row has ${numbers.length} numbers`);
    }
    const [callId = 0, cycles = 0, used = 0, callsOpen = 0, monthsMs = 0, laterMs = 0] =
      numbers.slice(at, at + RESERVATION_NUMBERS);
    at += RESERVATION_NUMBERS;
    expiresAtMs += laterMs;
    const times = { monthEndsAtMs: monthEndsAtMs - monthsMs, expiresAtMs };
    reservations.push({ callId, callTag, cycles, used, callsOpen, ...times });
  }
  return reservations;
}

function assertSensible(record: MeterRecord): void {
  const { monthWatermark, cyclesUsed, cyclesExpired, cyclesLost, reservations } = record;
  for (const field of COUNTS) assertCount(field, record[field]);
  if (monthWatermark < cyclesUsed) {
    throw nonsense(`of a watermark of ${monthWatermark} cycles ${cyclesUsed} are used`);
  }
  if (cyclesExpired + cyclesLost > cyclesUsed) {
    throw nonsense(
      `of ${cyclesUsed} used cycles ${cyclesExpired} expired and ${cyclesLost} were lost`,
    );
  }
  if (reservations.length > STORED_RESERVATIONS_MAX) {
    throw nonsense(`there are ${reservations.length} reservations`);
  }
  for (const reservation of reservations) assertReservation(reservation, record);
  const ids = new Set(reservations.map(({ callId }) => callId));
  if (ids.size < reservations.length) throw nonsense('two reservations are of one call');
}

function assertReservation(reservation: StoredReservation, { monthEndsAtMs }: MeterRecord): void {
  const { key: _, ...numbers } = reservation;
  for (const [field, value] of Object.entries(numbers)) assertCount(field, value);
  const { callId, cycles, used } = reservation;
  if (used > cycles) throw nonsense(`call ${callId} used ${used} of ${cycles} cycles`);
  if (reservation.monthEndsAtMs > monthEndsAtMs) {
    throw nonsense(`call ${callId} reserved cycles of a month to come`);
  }
}

function assertCount(field: string, value: number): void {
  if (!isCount(value)) throw nonsense(`${field} is ${value}`);
}

function nonsense(what: string): Error {
  return new Error(`a stored meter makes no sense: ${what}`);
}
