import type { AuditHead, AuditStore, StoredAuditLine } from '#storage/audit-store';

/** Audit trails that are forgotten when the process ends (interface 1.8). */
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
