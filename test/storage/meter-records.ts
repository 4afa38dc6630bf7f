import fc from 'fast-check';
import type { MeterHead, MeterRecord, MeterStore, StoredReservation } from '#storage/meter-store';

const MONTH_ENDS_AT_MS = Date.UTC(2026, 1, 1);

/** Stores the head of one meter. */
export async function storeMeter(
  store: Pick<MeterStore, 'checkpoint'>,
  accountId: string,
  head: MeterHead,
): Promise<void> {
  await store.checkpoint([{ accountId, head }]);
}

/** A head at a version; its counts distinguish versions. */
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

/** As many open reservations, oldest first, each of its own call. */
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

/** Any record that makes sense, its numbers up to the largest that there are. */
export function anyRecord(): fc.Arbitrary<MeterRecord> {
  // Four of them may be added up.
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
    reservations: fc.uniqueArray(reservation, { selector: ({ callId }) => callId, maxLength: 5 }),
  });
  return anything.map(({ otherUses, cyclesLeft, dayEnds, ...record }) => {
    const cyclesUsed = otherUses + record.cyclesExpired + record.cyclesLost;
    const monthOf = (one: StoredReservation) => Math.min(one.monthEndsAtMs, record.monthEndsAtMs);
    const sensible = record.reservations.map((one) => ({
      ...one,
      used: Math.min(one.used, one.cycles),
      monthEndsAtMs: monthOf(one),
    }));
    const ends = dayEnds.filter((end) => end <= cyclesUsed).toSorted((a, b) => a - b);
    return {
      ...record,
      ...(dayEnds.length > 0 && { days: [0, ...ends] }),
      cyclesUsed,
      monthWatermark: cyclesUsed + cyclesLeft,
      reservations: sensible,
    };
  });
}
