import type { Clock } from '#platform/clock';
import type { ManagedAccounts } from '#storage/account-store';
import type { AuditStore } from '#storage/audit-store';
import type { BillingStore } from '#storage/billing-store';
import type { PagedInstances } from '#storage/instance-store';
import type { JournalStore } from '#storage/journal-store';
import type { KeyUseStore } from '#storage/key-use-store';
import type { PagedListings } from '#storage/listing-store';
import type { CopiedMembers } from '#storage/member-store';
import type { ErasableMeters } from '#storage/meter-store';
import type { ShardStore } from '#storage/shard-store';
import type { PagedUsers } from '#storage/user-store';

/** Everything that an installation stores and a copy takes along. */
export type CopiedStores = {
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly instances: PagedInstances;
  readonly accounts: ManagedAccounts;
  readonly listings: PagedListings;
  readonly meters: ErasableMeters;
  readonly audit: AuditStore;
  readonly billing: BillingStore;
  readonly keyUses: KeyUseStore;
  readonly users: PagedUsers;
  readonly members: CopiedMembers;
};

/** Where an installation stores: a keyspace, undefined for that of the configuration, or a file. */
export type Place =
  | { readonly kind: 'cassandra'; readonly keyspace: string | undefined }
  | { readonly kind: 'sqlite'; readonly file: string };

/** Stores with how their place is called in lines for people. */
export type NamedStores = CopiedStores & {
  readonly name: string;
  /** A cluster secret that lies with the data; undefined: every process is given one. */
  readonly ownSecret?: string | undefined;
};

/** Opens the stores of installations. */
export interface StorePlaces {
  readonly clock: Clock;
  /** How a place is called; two names are the same only for the same place. */
  nameOf(place: Place): string;
  /** Opens what is stored there. Rejects with one line that says why it cannot be used. */
  openSource(place: Place): Promise<NamedStores & AsyncDisposable>;
  /**
   * The same, where a file that is not there is made. `secret`: the cluster secret of its source, if one
   * lies there; a file that is made keeps it.
   */
  openTarget(place: Place, secret?: string): Promise<NamedStores & AsyncDisposable>;
}
