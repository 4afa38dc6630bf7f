import type { BillingStore, StoredBilling } from '#storage/billing-store';

/** Billing of a process that forgets it when it ends (interface 1.8). */
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
