import { memoryListingStore } from '#storage/memory/instances';
import { listingStoreContract } from '#test/storage/contracts/listing-store';

const contract = listingStoreContract('memory', async () => memoryListingStore());

for (const suite of contract) suite.run();
