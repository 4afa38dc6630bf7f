import { type MeterRow, meterOfRow, rowOfMeter } from '#storage/meter-row';
import {
  type ErasableMeters,
  type FinishedMonth,
  type MeterHead,
  MONTHS_KEPT,
} from '#storage/meter-store';

type StoredMonth = { readonly version: number; readonly month: FinishedMonth };

type Stored = { readonly version: number; readonly row: MeterRow };

/** Meters that are forgotten when the process ends (interface 1.8). Kept as rows, which are small copies. */
export function memoryMeterStore(): ErasableMeters {
  const meters = new Map<string, Stored>();
  /** By account, newest first. */
  const months = new Map<string, readonly StoredMonth[]>();
  const erased = new Set<string>();

  const keepMonths = (accountId: string, { version, finished = [] }: MeterHead) => {
    for (const month of finished) {
      const isSame = (one: StoredMonth) => one.month.endsAtMs === month.endsAtMs;
      const known = months.get(accountId) ?? [];
      if ((known.find(isSame)?.version ?? 0) > version) continue;
      const all = [...known.filter((one) => !isSame(one)), { version, month }];
      all.sort((a, b) => b.month.endsAtMs - a.month.endsAtMs);
      months.set(accountId, all.slice(0, MONTHS_KEPT));
    }
  };

  return {
    bucketOf: () => 0,
    async readHead(accountId) {
      const stored = meters.get(accountId);
      if (stored === undefined) return undefined;
      return { version: stored.version, ...meterOfRow(stored.row) };
    },
    readMonths: async (accountId) => (months.get(accountId) ?? []).map(({ month }) => month),
    async checkpoint(checkpoints) {
      for (const { accountId, head } of checkpoints) {
        const { version } = head;
        if (erased.has(accountId)) continue;
        keepMonths(accountId, head);
        if (version < (meters.get(accountId)?.version ?? 0)) continue;
        meters.set(accountId, { version, row: rowOfMeter(head) });
      }
    },
    async erase(accountId) {
      meters.delete(accountId);
      months.delete(accountId);
      erased.add(accountId);
    },
  };
}
