import { memoryBillingStore } from '#storage/memory/meters';
import { billingStoreContract } from '#test/storage/contracts/billing-store';

billingStoreContract('memory', async () => memoryBillingStore()).run();
