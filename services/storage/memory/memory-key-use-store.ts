import type { KeyUse, KeyUseStore } from '#storage/key-use-store';

/** Last uses that are forgotten when the process ends (interface 1.8). */
export function memoryKeyUseStore(): KeyUseStore {
  const accounts = new Map<string, Map<string, KeyUse>>();
  const erased = new Set<string>();

  return {
    async note(accountId, use) {
      if (erased.has(accountId)) return;
      const uses = accounts.get(accountId) ?? new Map<string, KeyUse>();
      accounts.set(accountId, uses);
      if (use.minute >= (uses.get(use.digest)?.minute ?? 0)) uses.set(use.digest, { ...use });
    },
    async find(accountId) {
      return structuredClone([...(accounts.get(accountId)?.values() ?? [])]);
    },
    async erase(accountId) {
      accounts.delete(accountId);
      erased.add(accountId);
    },
  };
}
