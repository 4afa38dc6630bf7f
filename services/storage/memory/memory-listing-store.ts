import {
  type ListingRow,
  listedOf,
  listingBudget,
  type PagedListings,
} from '#storage/listing-store';

type Account = { readonly rows: Map<string, ListingRow>; readonly removed: Map<string, number> };

/** Listings that are forgotten when the process ends (interface 1.8). Rows are shared: they never change. */
export function memoryListingStore(): PagedListings {
  const accounts = new Map<string, Account>();
  const accountOf = (accountId: string): Account => {
    const known = accounts.get(accountId);
    if (known !== undefined) return known;
    const fresh: Account = { rows: new Map(), removed: new Map() };
    accounts.set(accountId, fresh);
    return fresh;
  };
  const versionOf = ({ rows, removed }: Account, instanceId: string): number =>
    Math.max(rows.get(instanceId)?.version ?? 0, removed.get(instanceId) ?? 0);

  return {
    async put(accountId, row) {
      const account = accountOf(accountId);
      if (row.version > versionOf(account, row.instanceId)) account.rows.set(row.instanceId, row);
    },
    async remove(accountId, instanceId, version) {
      const account = accountOf(accountId);
      if (version <= versionOf(account, instanceId)) return;
      account.rows.delete(instanceId);
      account.removed.set(instanceId, version);
    },
    async listed(accountId, bytesMax) {
      const spend = listingBudget(bytesMax);
      return [...(accounts.get(accountId)?.rows.values() ?? [])].map((row) => {
        const listed = listedOf(row);
        spend(listed);
        return listed;
      });
    },
    async find(accountId, instanceId) {
      return accounts.get(accountId)?.rows.get(instanceId);
    },
    async *pages(accountId) {
      const rows = [...(accounts.get(accountId)?.rows.values() ?? [])];
      if (rows.length > 0) yield rows.sort((a, b) => (a.instanceId < b.instanceId ? -1 : 1));
    },
    async load(accountId) {
      return [...(accounts.get(accountId)?.rows.values() ?? [])];
    },
  };
}
