import {
  additionOf,
  isCount,
  type MeterAddition,
  readAddition,
  withKeys,
} from '#storage/meter-addition';
import type { MeterRecord, StoredReservation } from '#storage/meter-store';

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
