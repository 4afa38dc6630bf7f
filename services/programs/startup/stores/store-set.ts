import type { KeyUseStore, ManagedAccounts } from '#storage/ports/accounts';
import type { AuditStore } from '#storage/ports/audit';
import type { BillingStore } from '#storage/ports/billing';
import type { DirtyFlag, ServerClocks, ShardStore } from '#storage/ports/cluster';
import type { ErasableFeeds } from '#storage/ports/feeds';
import type { PagedInstances } from '#storage/ports/instances';
import type { Journal, JournalStore } from '#storage/ports/journal';
import type { PagedListings } from '#storage/ports/listings';
import type { ErasableMeters } from '#storage/ports/meters';
import type { CopiedMembers, PagedUsers, PeopleStores } from '#storage/ports/people';

/** People's stores, with extra operations for tools. */
export type ManagedPeople = PeopleStores & {
  readonly users: PagedUsers;
  readonly members: CopiedMembers;
};

/** Stores that exist for every storage. */
type CommonStores = {
  readonly accounts: ManagedAccounts;
  readonly instances: PagedInstances;
  readonly listings: PagedListings;
  readonly meters: ErasableMeters;
  readonly feeds: ErasableFeeds;
  readonly audit: AuditStore;
  readonly billing: BillingStore;
  readonly keyUses: KeyUseStore;
} & ManagedPeople;

/** Stores in the memory of one process. All data is lost when the process ends. */
export type LocalStores = CommonStores & {
  readonly kind: 'local';
  readonly engineJournal: Journal;
  readonly meterJournal: Journal;
};

/** Stores that the processes of a cluster share. */
export type SharedStores = CommonStores & {
  readonly kind: 'shared';
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  readonly serverClocks: ServerClocks;
  /**
   * Returns the reason for refusing all instance changes now, or undefined. Absent if the store
   * never refuses changes.
   */
  readonly refusal?: Journal['refusal'];
  /** Dirty flag, for data with a single process. Absent if processes share the data. */
  readonly dirtyFlag?: DirtyFlag;
  /** Cluster secret stored with the data. Undefined if the processes configure the secret. */
  readonly ownSecret?: string;
};
