import fc from 'fast-check';
import type {
  FinishedMonth,
  KeyCycles,
  MeterHead,
  MeterRecord,
  MeterStore,
  StoredReservation,
} from '#storage/ports/meters';

const MONTH_ENDS_AT_MS = Date.UTC(2026, 1, 1);

/** Stores the head of one meter. */
export async function storeMeter(
  store: Pick<MeterStore, 'checkpoint'>,
  accountId: string,
  head: MeterHead,
): Promise<void> {
  await store.checkpoint([{ accountId, head }]);
}

/** Head of this version. The counts of the head identify the version. */
export function meterAt(version: number, fields: Partial<MeterHead> = {}): MeterHead {
  return {
    version,
    monthEndsAtMs: MONTH_ENDS_AT_MS,
    monthWatermark: 10 * version + 5,
    cyclesUsed: 10 * version,
    cyclesExpired: version,
    cyclesLost: 2 * version,
    windowEndsAtMs: MONTH_ENDS_AT_MS - 60_000 + version,
    windowWatermark: 300,
    reservations: [],
    ...fields,
  };
}

/** Finished month with `cyclesUsed` cycles, usage of one key and usage by day. */
export function monthAt(month: number, cyclesUsed = 5): FinishedMonth {
  const keys = [{ prefix: 'aB3_-6zZ', cycles: 2, days: [0] }];
  return { endsAtMs: Date.UTC(2025, month, 1), cyclesUsed, days: [0, 3], keys };
}

/** `count` open reservations, oldest first, of distinct calls. */
export function reservations(count: number): StoredReservation[] {
  return Array.from({ length: count }, (_, index) => ({
    callId: 2 ** 53 - 1 - index,
    callTag: index % 2 === 0 ? 0 : 2 ** 52 - index,
    cycles: 1 + (index % 100),
    used: index % 2,
    callsOpen: 1 + (index % 3),
    monthEndsAtMs: index % 5 === 0 ? Date.UTC(2026, 0, 1) : MONTH_ENDS_AT_MS,
    expiresAtMs: MONTH_ENDS_AT_MS + 7 * index,
  }));
}

const anyKey: fc.Arbitrary<KeyCycles> = fc
  .record({
    prefix: fc.stringMatching(/^[\w-]{8}$/),
    ends: fc.array(fc.nat(50), { maxLength: 3 }),
    first: fc.nat(27),
  })
  .map(({ prefix, ends, first }) => {
    const counts = ends.toSorted((a, b) => a - b);
    const cycles = counts.at(-1) ?? 0;
    return counts.length === 0 ? { prefix, cycles } : { prefix, cycles, days: [first, ...counts] };
  });

const anyKeys = fc.uniqueArray(anyKey, { selector: ({ prefix }) => prefix, maxLength: 6 });

const anyMonth: fc.Arbitrary<FinishedMonth> = fc
  .record({ endsAtMs: fc.maxSafeNat(), others: fc.nat(100), keys: anyKeys })
  .map(({ endsAtMs, others, keys }) => {
    return { endsAtMs, cyclesUsed: sumOf(keys) + others, days: [3, 0], keys };
  });

function sumOf(keys: readonly KeyCycles[]): number {
  return keys.reduce((sum, { cycles }) => sum + cycles, 0);
}

/** Any valid record, with numbers up to the maximum. */
export function anyRecord(): fc.Arbitrary<MeterRecord> {
  // Limited so that the sum of four numbers is exact.
  const cycles = fc.oneof(fc.nat(100), fc.integer({ min: 0, max: 2 ** 51 - 1 }));
  const reservation = fc.record({
    callId: fc.maxSafeNat(),
    callTag: fc.oneof(fc.constant(0), fc.maxSafeNat()),
    cycles,
    used: cycles,
    callsOpen: fc.maxSafeNat(),
    monthEndsAtMs: fc.maxSafeNat(),
    expiresAtMs: fc.maxSafeNat(),
  });
  const anything = fc.record({
    monthEndsAtMs: fc.maxSafeNat(),
    otherUses: cycles,
    cyclesLeft: cycles,
    cyclesExpired: cycles,
    cyclesLost: cycles,
    windowEndsAtMs: fc.maxSafeNat(),
    windowWatermark: fc.maxSafeNat(),
    dayEnds: fc.array(cycles, { maxLength: 30 }),
    someKeys: fc.option(anyKeys, { nil: undefined }),
    keyPlaces: fc.array(fc.nat(6), { minLength: 5, maxLength: 5 }),
    months: fc.array(anyMonth, { maxLength: 3 }),
    reservations: fc.uniqueArray(reservation, { selector: ({ callId }) => callId, maxLength: 5 }),
  });
  return anything.map(({ someKeys, keyPlaces, months, ...counts }) => {
    const { otherUses, cyclesLeft, dayEnds, ...record } = counts;
    const cyclesUsed = otherUses + record.cyclesExpired + record.cyclesLost;
    const monthOf = (one: StoredReservation) => Math.min(one.monthEndsAtMs, record.monthEndsAtMs);
    const keys = someKeys?.filter((_, index) => sumOf(someKeys.slice(0, index + 1)) <= cyclesUsed);
    const sensible = record.reservations.map((one, index) => {
      const key = keys?.[keyPlaces[index] ?? 0]?.prefix;
      return {
        ...one,
        used: Math.min(one.used, one.cycles),
        monthEndsAtMs: monthOf(one),
        ...(key !== undefined && { key }),
      };
    });
    const ends = dayEnds.filter((end) => end <= cyclesUsed).toSorted((a, b) => a - b);
    return {
      ...record,
      ...(dayEnds.length > 0 && { days: [0, ...ends] }),
      ...(keys !== undefined && { keys }),
      ...(months.length > 0 && { finished: months }),
      cyclesUsed,
      monthWatermark: cyclesUsed + cyclesLeft,
      reservations: sensible,
    };
  });
}
