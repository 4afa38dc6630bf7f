import { memoryBillingStore } from '#storage/memory/meters';
import { billingStoreContract } from '#test/storage/billing-store-contract';

billingStoreContract('memory', async () => memoryBillingStore()).run();
