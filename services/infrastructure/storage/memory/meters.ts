import type { AuditHead, AuditStore, StoredAuditLine } from '#storage/ports/audit';
import type { BillingStore, StoredBilling } from '#storage/ports/billing';
import type { Journal } from '#storage/ports/journal';
import { type MeterRow, meterOfRow, rowOfMeter } from '#storage/ports/meter-codec';
import {
  type ErasableMeters,
  type FinishedMonth,
  type MeterHead,
  MONTHS_KEPT,
} from '#storage/ports/meters';

type StoredMonth = { readonly version: number; readonly month: FinishedMonth };

type Stored = { readonly version: number; readonly row: MeterRow };

/**
 * Meters in memory, lost when the process ends (interface 1.8). Stored as rows, which are small
 * copies.
 */
export function memoryMeterStore(): ErasableMeters {
  const meters = new Map<string, Stored>();
  /** Finished months by account, newest first. */
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

/** Audit trails in memory, lost when the process ends (interface 1.8). */
export function memoryAuditStore(): AuditStore {
  const accounts = new Map<string, Map<string, StoredAuditLine[]>>();
  const linesOf = (accountId: string, month: string) => accounts.get(accountId)?.get(month) ?? [];
  const headOf = (month: string, lines: readonly StoredAuditLine[]): AuditHead | undefined => {
    const last = lines.at(-1);
    return last && { month, lines: last.seq, hash: last.hash };
  };

  return {
    months: async (accountId) => [...(accounts.get(accountId)?.keys() ?? [])].sort(),
    head: async (accountId, month) => headOf(month, linesOf(accountId, month)),
    async append(accountId, { month, lines: count, hash }, added) {
      const lines = linesOf(accountId, month);
      const head = headOf(month, lines);
      if ((head?.lines ?? 0) !== count || (head !== undefined && head.hash !== hash)) return false;
      const months = accounts.get(accountId) ?? new Map<string, StoredAuditLine[]>();
      accounts.set(accountId, months);
      months.set(month, lines);
      lines.push(...added);
      return true;
    },
    async read(accountId, month, newest, count) {
      const lines = linesOf(accountId, month);
      const end = Math.min(newest, lines.length);
      return lines.slice(Math.max(0, end - count), end).toReversed();
    },
    async erase(accountId, month) {
      const months = accounts.get(accountId);
      months?.delete(month);
      if (months?.size === 0) accounts.delete(accountId);
    },
  };
}

/** Billing records in memory, lost when the process ends (interface 1.8). */
export function memoryBillingStore(): BillingStore {
  const records = new Map<string, StoredBilling>();
  const accounts = new Map<string, string>();
  return {
    async find(accountId) {
      const stored = records.get(accountId);
      return stored && structuredClone(stored);
    },
    accountOf: async (customerId) => accounts.get(customerId),
    async put(accountId, revision, record) {
      if ((records.get(accountId)?.revision ?? 0) !== revision) return false;
      for (const { id } of record.customers) {
        if (!accounts.has(id)) accounts.set(id, accountId);
      }
      records.set(accountId, structuredClone({ record, revision: revision + 1 }));
      return true;
    },
    async erase(accountId) {
      records.delete(accountId);
      for (const [customerId, owner] of accounts) {
        if (owner === accountId) accounts.delete(customerId);
      }
    },
  };
}

/**
 * Journal of a process without storage (interface 1.8). No other process could read a record. The
 * journal therefore stores nothing and reports every append as durable immediately.
 */
export function memoryJournal(): Journal {
  return { isLasting: false, isOnlyWriter: true, append: () => undefined };
}
