import { memoryBillingStore } from '#storage/memory/memory-billing-store';
import { billingStoreContract } from '#test/storage/billing-store-contract';

billingStoreContract('memory', async () => memoryBillingStore()).run();
