import { memoryListingStore } from '#storage/memory/instances';
import { listingStoreContract } from '#test/storage/listing-store-contract';

const contract = listingStoreContract('memory', async () => memoryListingStore());

for (const suite of contract) suite.run();
