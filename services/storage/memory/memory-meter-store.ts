import { meterOfRow, rowOfMeter } from '#storage/meter-row';
import type { MeterStore } from '#storage/meter-store';

type Stored = { readonly version: number; readonly row: readonly number[] };

/** Meters that are forgotten when the process ends (interface 1.8). Kept as rows, which are small copies. */
export function memoryMeterStore(): MeterStore {
  const meters = new Map<string, Stored>();

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
        if (version < (meters.get(accountId)?.version ?? 0)) continue;
        meters.set(accountId, { version, row: rowOfMeter(head) });
      }
    },
  };
}
