import { type MeterRow, meterOfRow, rowOfMeter } from '#storage/meter-row';
import type { ErasableMeters } from '#storage/meter-store';

type Stored = { readonly version: number; readonly row: MeterRow };

/** Meters that are forgotten when the process ends (interface 1.8). Kept as rows, which are small copies. */
export function memoryMeterStore(): ErasableMeters {
  const meters = new Map<string, Stored>();
  const erased = new Set<string>();

  return {
    bucketOf: () => 0,
    async readHead(accountId) {
      const stored = meters.get(accountId);
      if (stored === undefined) return undefined;
      return { version: stored.version, ...meterOfRow(stored.row) };
    },
    async checkpoint(checkpoints) {
      for (const { accountId, head } of checkpoints) {
        const { version } = head;
        if (erased.has(accountId)) continue;
        if (version < (meters.get(accountId)?.version ?? 0)) continue;
        meters.set(accountId, { version, row: rowOfMeter(head) });
      }
    },
    async erase(accountId) {
      meters.delete(accountId);
      erased.add(accountId);
    },
  };
}
