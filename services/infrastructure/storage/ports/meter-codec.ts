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

/**
 * Format number in the first byte of a stored meter. Any change of its row or its layout needs a
 * new format number.
 */
const FORMAT = 1;

const writer = new ByteWriter();

/** Encodes a head: its version, and the journal's row as JSON. About 80 bytes. */
export function encodeMeter(head: MeterHead): Buffer {
  const json = JSON.stringify(rowOfMeter(head));
  return writer.begin(FORMAT).number(head.version).text(json).end();
}

/** Decodes the stored head of an account's meter. Throws `CorruptState`. */
export function decodeMeter(accountId: string, bytes: unknown): MeterHead {
  const what = `the meter of ${accountId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const version = reader.number();
  const json = reader.text();
  reader.end();
  return { version, ...recordOf(json, what) };
}

/** Encodes a finished month as JSON, with the same row as in a head. */
export function encodeMonth(month: FinishedMonth): Buffer {
  return writer
    .begin(FORMAT)
    .text(JSON.stringify(rowOfMonth(month)))
    .end();
}

/** Decodes a stored finished month of an account. Throws `CorruptState`. */
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
 * The object at the end of a meter's row. It holds only data that may be lost, because a release
 * that does not know the object drops it (decision 240).
 */

/** Row of a key: its prefix, its cycles, and its cycles by day (`MonthDays`). */
type KeyRow = readonly (string | number)[];

/** Row of a finished month: its end, its cycles, its cycles by day (`MonthDays`), and its keys. */
type MonthRow = readonly [
  endsAtMs: number,
  cycles: number,
  days: readonly number[],
  keys: readonly KeyRow[],
];

/** The object at the end of a row. Empty parts are left out. */
type MeterAddition = {
  readonly days?: readonly number[];
  readonly keys?: readonly KeyRow[];
  /** For each reservation, the index of its key in `keys`; -1 if the reservation has no key. */
  readonly of?: readonly number[];
  readonly finished?: readonly MonthRow[];
  readonly unrecorded?: number;
};

/** Number of days in the longest month. */
const DAYS_MAX = 31;

/** Maximum number of keys in a list. Larger than the number of keys that a meter counts. */
const KEYS_MAX = 256;

const PREFIX = new RegExp(`^[\\w-]{${KEY_PREFIX_LENGTH}}$`);

/** Addition of a record; undefined if the addition would be empty. */
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

/** Reads the fields of a record from an addition. Invalid parts are left out. */
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

/** Reservations, with the keys that an addition assigns to them. */
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

/** Whether a value is a safe integer from 0 on. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function rowOfKey({ prefix, cycles, days = [] }: KeyCycles): KeyRow {
  return [prefix, cycles, ...days];
}

/** Encodes a finished month as a row. */
function rowOfMonth({ endsAtMs, cyclesUsed, days, keys }: FinishedMonth): MonthRow {
  return [endsAtMs, cyclesUsed, days, keys.map(rowOfKey)];
}

/** Decodes the row of a finished month; undefined: the row is not valid. */
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

/**
 * Distinct keys in rows that use at most `used` cycles together; undefined if the rows are not
 * valid.
 */
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

/** Items of all rows; undefined if a row is not valid or there are more than `max`. */
function listOf<Item>(
  rows: readonly unknown[],
  read: (row: unknown) => Item | undefined,
  max: number,
): readonly Item[] | undefined {
  const items = rows.map(read).filter((item) => item !== undefined);
  return items.length === rows.length && items.length <= max ? items : undefined;
}

/** Index of the first day, then ascending counts; undefined if `days` is not valid. */
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
 * Maximum number of reservations in a record: as many as a meter may have open. A closing record
 * contains fewer. A reservation takes about 30 characters of a row, with a call tag about 50, and
 * at most 120.
 */
export const STORED_RESERVATIONS_MAX = 16_384;

/**
 * First fields of a row, in this order. A change needs a new format number wherever rows are
 * stored.
 */
const COUNTS = [
  'monthEndsAtMs',
  'monthWatermark',
  'cyclesUsed',
  'cyclesExpired',
  'cyclesLost',
  'windowEndsAtMs',
  'windowWatermark',
] as const satisfies readonly (keyof MeterRecord)[];

/** Numbers of one reservation in a row, without the tag of a keyed call. */
const RESERVATION_NUMBERS = 6;

/** Record as a list: its numbers, then the addition, if any. */
export type MeterRow = readonly (number | MeterAddition)[];

/**
 * Encodes a record as a list of numbers, for journals and heads: the counts, then six numbers per
 * reservation. The tag of a keyed call precedes its six numbers as a negative number. No other
 * number is negative, so older rows without tags can be read. The two times of a reservation are
 * large and similar, so differences are stored. The first is the distance of its month end from the
 * record's month end. The second is the distance of its expiry from the previous expiry. The
 * addition, if any, comes last.
 *
 * Throws an Error for a record that `meterOfRow` would refuse, before the record is durable.
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
 * Decodes a row into a record. Valid parts of the addition are read. Other parts may come from a
 * later release and are skipped. Throws an Error that names the problem if the row is not valid.
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
  if (!Array.isArray(row)) throw nonsense('the row is not a list');
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
    throw nonsense(`${cyclesUsed} cycles are used, above the watermark ${monthWatermark}`);
  }
  if (cyclesExpired + cyclesLost > cyclesUsed) {
    throw nonsense(
      `${cyclesExpired} cycles expired and ${cyclesLost} were lost, but only ${cyclesUsed} were used`,
    );
  }
  if (reservations.length > STORED_RESERVATIONS_MAX) {
    throw nonsense(
      `the record has ${reservations.length} reservations, above ${STORED_RESERVATIONS_MAX}`,
    );
  }
  for (const reservation of reservations) assertReservation(reservation, record);
  const ids = new Set(reservations.map(({ callId }) => callId));
  if (ids.size < reservations.length) throw nonsense('two reservations have the same call id');
}

function assertReservation(reservation: StoredReservation, { monthEndsAtMs }: MeterRecord): void {
  const { key: _, ...numbers } = reservation;
  for (const [field, value] of Object.entries(numbers)) assertCount(field, value);
  const { callId, cycles, used } = reservation;
  if (used > cycles) throw nonsense(`call ${callId} used ${used} of ${cycles} cycles`);
  if (reservation.monthEndsAtMs > monthEndsAtMs) {
    throw nonsense(`call ${callId} reserved cycles of a future month`);
  }
}

function assertCount(field: string, value: number): void {
  if (!isCount(value)) throw nonsense(`${field} is ${value}`);
}

function nonsense(what: string): Error {
  return new Error(`a stored meter is invalid: ${what}`);
}
