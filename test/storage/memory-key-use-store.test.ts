import { memoryKeyUseStore } from '#storage/memory/accounts';
import { keyUseStoreContract } from '#test/storage/key-use-store-contract';

keyUseStoreContract('memory', async () => memoryKeyUseStore()).run();
