import type { JournalRecord } from '#storage/ports/journal';
import { rowOfMeter } from '#storage/ports/meter-codec';
import type { MeterHead, StoredReservation } from '#storage/ports/meters';

const MONTH_ENDS_AT_MS = Date.UTC(2026, 1, 1);
const AT_MS = Date.UTC(2026, 0, 15, 12);

const RESERVATIONS: readonly StoredReservation[] = [
  { callId: 7, callTag: 0, cycles: 20, used: 0, callsOpen: 1 },
  { callId: 2 ** 52 - 1, callTag: 2 ** 51 + 1, cycles: 1, used: 1, callsOpen: 2 },
].map((open, index) => ({
  ...open,
  monthEndsAtMs: MONTH_ENDS_AT_MS,
  expiresAtMs: AT_MS + 1_000 * index,
}));

/** A meter with raised watermarks, and a closed meter with open reservations. */
export function sampleMeters(): readonly { accountId: string; head: MeterHead }[] {
  const head = {
    version: 3,
    monthEndsAtMs: MONTH_ENDS_AT_MS,
    monthWatermark: 2_048,
    cyclesUsed: 1_000,
    cyclesExpired: 20,
    cyclesLost: 3,
    windowEndsAtMs: AT_MS + 30_000,
    windowWatermark: 64,
    reservations: [],
  };
  return [
    { accountId: 'Acc0unt00001', head },
    { accountId: 'Acc0unt00002', head: { ...head, version: 9, reservations: RESERVATIONS } },
  ];
}

/** Journal record of a meter. */
export function recordOfMeter(accountId: string, { version, ...record }: MeterHead): JournalRecord {
  const event = rowOfMeter(record);
  return { actor: 'meter', actorId: accountId, version, callId: 0, atMs: AT_MS, event };
}
