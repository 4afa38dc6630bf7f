import {
  type FinishedMonth,
  KEY_PREFIX_LENGTH,
  type KeyCycles,
  type MeterRecord,
  MONTHS_KEPT,
  type StoredReservation,
} from '#storage/meter-store';

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
export type MeterAddition = {
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
export function additionOf({
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
export function readAddition(
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
export function withKeys(
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
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function rowOfKey({ prefix, cycles, days = [] }: KeyCycles): KeyRow {
  return [prefix, cycles, ...days];
}

/** A finished month as rows have it. */
export function rowOfMonth({ endsAtMs, cyclesUsed, days, keys }: FinishedMonth): MonthRow {
  return [endsAtMs, cyclesUsed, days, keys.map(rowOfKey)];
}

/** The finished month that a row is; undefined: it is none. */
export function monthOf(row: unknown): FinishedMonth | undefined {
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
