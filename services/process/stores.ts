import type { KeyUseStore, ManagedAccounts } from '#storage/ports/accounts';
import type { AuditStore } from '#storage/ports/audit';
import type { BillingStore } from '#storage/ports/billing';
import type { DirtyFlag, ServerClocks, ShardStore } from '#storage/ports/cluster';
import type { PagedInstances } from '#storage/ports/instances';
import type { Journal, JournalStore } from '#storage/ports/journal';
import type { PagedListings } from '#storage/ports/listings';
import type { ErasableMeters } from '#storage/ports/meters';
import type { CopiedMembers, PagedUsers, PeopleStores } from '#storage/ports/people';

/** People, with what tools do to them. */
export type ManagedPeople = PeopleStores & {
  readonly users: PagedUsers;
  readonly members: CopiedMembers;
};

/** What every process with stores has, wherever they are. */
type CommonStores = {
  readonly accounts: ManagedAccounts;
  readonly instances: PagedInstances;
  readonly listings: PagedListings;
  readonly meters: ErasableMeters;
  readonly audit: AuditStore;
  readonly billing: BillingStore;
  readonly keyUses: KeyUseStore;
} & ManagedPeople;

/** The stores of a process that keeps its data to itself and forgets it at its end. */
export type LocalStores = CommonStores & {
  readonly kind: 'local';
  readonly engineJournal: Journal;
  readonly meterJournal: Journal;
};

/** The stores that the processes of a cluster share. */
export type SharedStores = CommonStores & {
  readonly kind: 'shared';
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  readonly serverClocks: ServerClocks;
  /** Why instances should not be changed for now; absent: nothing. */
  readonly refusal?: Journal['refusal'];
  /** Of data that has no other process; absent where several share it. */
  readonly dirtyFlag?: DirtyFlag;
  /** A cluster secret that lies with the data; undefined: every process must be given one. */
  readonly ownSecret?: string;
};
