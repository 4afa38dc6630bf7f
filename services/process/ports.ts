/*
 * The one place where adapters are chosen. They are imported dynamically, so that a run on memory
 * never loads a driver (architecture 2).
 */
import type { Config } from '#config';
import type { AccountStore } from '#storage/account-store';
import type { InstanceStore } from '#storage/instance-store';
import type { Journal } from '#storage/journal';
import type { ListingStore } from '#storage/listing-store';

/** Every store a process may need. */
export type Stores = {
  readonly accounts: AccountStore;
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  /** A journal has one writer: every service of the process opens its own. */
  readonly openJournal: () => Journal;
};

/** The stores that the configuration names. */
export async function openStores({ SERVICE_STORAGE }: Config): Promise<Stores> {
  switch (SERVICE_STORAGE) {
    case 'memory': {
      const { memoryAccountStore } = await import('#storage/memory/memory-account-store');
      const { memoryInstanceStore } = await import('#storage/memory/memory-instance-store');
      const { memoryListingStore } = await import('#storage/memory/memory-listing-store');
      const { memoryJournal } = await import('#storage/memory/memory-journal');
      return {
        accounts: memoryAccountStore(),
        instances: memoryInstanceStore(),
        listings: memoryListingStore(),
        openJournal: memoryJournal,
      };
    }
  }
}
