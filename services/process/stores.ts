import type { ManagedAccounts } from '#storage/account-store';
import type { AuditStore } from '#storage/audit-store';
import type { BillingStore } from '#storage/billing-store';
import type { DirtyFlag } from '#storage/dirty-flag';
import type { PeopleStores } from '#storage/forget-people';
import type { PagedInstances } from '#storage/instance-store';
import type { Journal } from '#storage/journal';
import type { JournalStore } from '#storage/journal-store';
import type { KeyUseStore } from '#storage/key-use-store';
import type { PagedListings } from '#storage/listing-store';
import type { CopiedMembers } from '#storage/member-store';
import type { ErasableMeters } from '#storage/meter-store';
import type { ServerClocks } from '#storage/server-clocks';
import type { ShardStore } from '#storage/shard-store';
import type { PagedUsers } from '#storage/user-store';

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
